import assert from "node:assert/strict";
import test from "node:test";
import {
  argmax,
  attend,
  dotProduct,
  entropyBits,
  largestDifference,
  maskedSoftmax,
  rotaryVector,
  scoreTerms,
  steepestSlope,
} from "../../src/regard/web/math/attention.js";
import { assertClose, reference } from "./close.js";

for (const { input, expected } of reference("attention.json")) {
  const { layer, is_rotary, position_bias, visible } = input;
  const parts = [layer.score, is_rotary && "rotary", position_bias && "biased", visible.includes(false) && "masked"];
  const name = parts.filter(Boolean).join(", ");
  test(`every step is numpy's: ${name}`, () => {
    const work = attend(input);
    for (const step of ["query", "keys", "raw", "weights", "context"]) assertClose(work[step], expected[step]);
    assert.equal(work.divisor, expected.divisor);
    if (expected.part) assertClose(work.part, expected.part);
    else assert.equal(work.part, null);
    expected.terms?.forEach((terms, key) => {
      assertClose(
        scoreTerms(work, key).map(({ product }) => product),
        terms,
      );
    });
    assertClose(attend(input, { isScaled: false }).weights, expected.unscaled_weights);
    assertClose(attend(input, { isMasked: false }).weights, expected.unmasked_weights);
  });
}

test("given queries and keys are not rotated again", () => {
  const [, { input, expected }] = reference("attention.json");
  const { values } = attend(input);
  const given = { ...input, query: expected.query, keys: expected.keys, values };
  for (const name of ["query", "key", "value"]) given[`${name}_weight`] = null;
  assertClose(attend(given).weights, expected.weights);
});

test("rotary scores depend on the offset alone", () => {
  const [query, key] = [
    [0.3, -1, 2, 0.5],
    [1, 0.2, -0.7, 0.4],
  ];
  const score = (from, to) => dotProduct(rotaryVector(query, from), rotaryVector(key, to));
  assertClose(score(3, 5), score(40, 42));
  assert.ok(Math.abs(score(3, 5) - score(3, 6)) > 1e-3);
});

for (const scale of [1, 30, 1000]) {
  test(`the softmax sums to one for scores of size ${scale}`, () => {
    const scores = [0.3, -1, 2, 0.5, 1].map((score) => score * scale);
    const { weights, total } = maskedSoftmax(scores, [true, true, true, true, false]);
    assertClose(
      weights.reduce((sum, weight) => sum + weight, 0),
      1,
    );
    assert.equal(weights[4], 0);
    assert.ok(Number.isFinite(total));
    if (weights[3] > 0) assertClose(Math.log(weights[2] / weights[3]), 1.5 * scale);
  });
}

test("a query that sees nothing has no weights", () => {
  assert.deepEqual(maskedSoftmax([1, 2], [false, false]).weights, [0, 0]);
});

test("entropy is 0 for one key and log2 K for equal weights", () => {
  assert.equal(entropyBits([1, 0, 0]), 0);
  assertClose(entropyBits(Array(8).fill(0.125)), 3);
});

test("the slope of a weight is largest at one half", () => {
  assert.equal(steepestSlope([0.5, 0.5]), 0.25);
  assert.equal(steepestSlope([1, 0]), 0);
});

test("largest number and largest difference", () => {
  assert.equal(argmax([0.1, 0.7, 0.2]), 1);
  assertClose(largestDifference([1, 2, 3], [1, 2.5, 2.8]), 0.5);
});
