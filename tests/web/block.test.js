import assert from "node:assert/strict";
import test from "node:test";
import { ACTIVATIONS, errorFunction, layerNorm, outputProbabilities } from "../../src/regard/web/math/block.js";
import { assertClose, reference } from "./close.js";

const given = reference("block.json");

test("a layer norm is numpy's", () => {
  const { mean, deviation, standard, output } = layerNorm(given.norm);
  assertClose(mean, given.norm_expected.mean);
  assertClose(deviation, given.norm_expected.deviation);
  assertClose(output, given.norm_expected.output);
  assertClose(
    standard.reduce((sum, value) => sum + value, 0),
    0,
  );
});

test("RMSNorm subtracts no mean", () => {
  const { mean, deviation, output } = layerNorm({ ...given.norm, is_centered: false });
  assertClose(mean, 0);
  assertClose(deviation, given.rms_norm_expected.deviation);
  assertClose(output, given.rms_norm_expected.output);
});

test("the error function keeps its digits", () => {
  given.activation_inputs.forEach((x, index) => {
    const expected = given.erf[index];
    assert.ok(Math.abs(errorFunction(x) - expected) <= 4e-15 * Math.abs(expected), `erf(${x})`);
  });
});

for (const name of Object.keys(given.activations)) {
  test(`${name} is numpy's`, () => {
    assertClose(given.activation_inputs.map(ACTIVATIONS[name].apply), given.activations[name], 1e-14);
  });
}

test("logits and probabilities follow from the hidden state", () => {
  const { logits, probabilities } = outputProbabilities(given.output);
  assertClose(logits, given.output_expected.logits);
  assertClose(probabilities, given.output_expected.probabilities);
  assertClose(
    probabilities.reduce((sum, value) => sum + value, 0),
    1,
  );
});

test("a candidate without its row keeps the logit that it came with", () => {
  const tokens = given.output.tokens.map(({ logit, bias }) => ({ logit, bias, weight: null }));
  assertClose(outputProbabilities({ ...given.output, tokens }).logits, given.output_expected.logits);
});
