import assert from "node:assert/strict";
import test from "node:test";
import { formatSelection, headAlignments, parseSelection } from "../../src/regard/web/data/head_alignment.js";
import { comparableModels, modelFor } from "../../src/regard/web/data/models.js";
import { alignWords, attendedWords, drawnLinks, wordProbability } from "../../src/regard/web/math/alignment.js";

const ALIGNMENT = {
  source_words: ["one", "red", "cat", "sees", "two"],
  target_words: ["하나", "고양이"],
  weights: [
    [0.5, 0.2, 0.1, 0.05, 0.05],
    [0.01, 0.02, 0.9, 0.03, 0.0],
  ],
  links: [
    [0, 0],
    [2, 1],
    [0, 1],
  ],
};

test("a link without weight is not drawn", () => {
  assert.deepEqual(drawnLinks(ALIGNMENT), [
    [0, 0],
    [2, 1],
  ]);
});

test("what a target word attends to adds up to one", () => {
  const words = attendedWords(ALIGNMENT, { side: "target", index: 0 }, "others");
  assert.deepEqual(
    words.map(({ word }) => word),
    ["one", "red", "cat", "sees", "</s>", "others"],
  );
  assert.ok(Math.abs(words.reduce((sum, { weight }) => sum + weight, 0) - 1) < 1e-9);
});

test("a source word lists the target words that attend to it", () => {
  const words = attendedWords(ALIGNMENT, { side: "source", index: 2 }, "others");
  assert.deepEqual(words, [
    { word: "고양이", weight: 0.9 },
    { word: "하나", weight: 0.1 },
  ]);
});

test("a word is as probable as all its tokens together", () => {
  assert.ok(Math.abs(wordProbability([Math.log(0.5), Math.log(0.4)], [1, 2]) - 0.2) < 1e-12);
});

test("a selection is read as it was written", () => {
  for (const layer of [0, 1, "mean"])
    for (const head of [0, 3, "mean"])
      for (const at of ["output", "input"])
        assert.deepEqual(parseSelection(formatSelection({ layer, head, at }), 2, 4), { layer, head, at });
});

test("a selection that the model does not have is null", () => {
  for (const value of ["", "2.0.output", "0.4.output", "0.0", "0.0.said", "-1.0.input", "x"])
    assert.equal(parseSelection(value, 2, 4), null);
});

const model = (name, changes = {}) => ({
  name,
  kind: "transformer",
  task: "translation",
  is_ready: true,
  source: "en",
  target: "ko",
  has_attention: true,
  ...changes,
});
const MODELS = [
  model("t"),
  model("captions", { task: "image-to-text" }),
  model("r", { kind: "rnn" }),
  model("back", { source: "ko", target: "en" }),
  model("young", { is_ready: false }),
];

test("the chosen model is used where it fits", () => {
  assert.equal(modelFor(MODELS, MODELS[2], "translation")?.name, "r");
  assert.equal(modelFor(MODELS, MODELS[1], "translation")?.name, "t");
  assert.equal(modelFor(MODELS, MODELS[4], "translation")?.name, "t");
  assert.equal(modelFor([MODELS[4]], null, "translation")?.name, "young"); // to wait for
  assert.equal(modelFor([], null, "translation"), null);
});

test("models of the same languages are compared by generation", () => {
  assert.deepEqual(
    comparableModels(MODELS, MODELS[1]).map(({ name }) => name),
    ["r", "t"],
  );
  assert.deepEqual(
    comparableModels(MODELS, MODELS[3]).map(({ name }) => name),
    ["back"],
  );
});

const RECORD = { layer: 1, head: null, at: "input", aer: 0.25 };
const backend = (links, headAlignment) => ({
  isEmbedded: false,
  examples: async () => ({ examples: [{ source: "a", target: "b", links }] }),
  headAlignment,
});

test("heads are measured only with gold links", async () => {
  const requests = [];
  const headAlignment = async (name) => {
    requests.push(name);
    return { heads: [RECORD] };
  };
  assert.deepEqual(await headAlignments(backend(null, headAlignment), MODELS[0], {}), []);
  assert.deepEqual(requests, []);
  assert.deepEqual(await headAlignments(backend([[0, 0]], headAlignment), MODELS[0], {}), [
    { layer: 1, head: "mean", at: "input", error: 0.25 },
  ]);
});

test("an aborted measurement is not taken for none", async () => {
  const controller = new AbortController();
  const refused = async () => {
    throw new Error("refused");
  };
  assert.deepEqual(await headAlignments(backend([[0, 0]], refused), MODELS[0], { signal: controller.signal }), []);
  controller.abort();
  await assert.rejects(headAlignments(backend([[0, 0]], refused), MODELS[0], { signal: controller.signal }));
});

const SOURCE_SIDE = {
  pieces: ["▁a", "▁do", "g", "</s>"],
  word_pieces: [[0], [1, 2], [3]],
  words: ["a", "dog", "</s>"],
};
const TARGET_SIDE = {
  pieces: ["<s>", "▁개", "가", "</s>"],
  word_pieces: [[0], [1, 2], [3]],
  words: ["<s>", "개가", "</s>"],
};
const MAP = { rows: 3, columns: 4, weights: [0.1, 0.4, 0.3, 0.2, 0.2, 0.1, 0.1, 0.6, 0.5, 0.1, 0.3, 0.1] };

test("tokens of a source word are added, those of a target word averaged", () => {
  const atOutput = alignWords(SOURCE_SIDE, TARGET_SIDE, [MAP], false); // rows 0 and 1 output the tokens 1 and 2
  assert.deepEqual(
    atOutput.weights[0].map((weight) => weight.toFixed(6)),
    ["0.150000", "0.450000"],
  );
  assert.deepEqual([atOutput.source_words, atOutput.target_words], [["a", "dog"], ["개가"]]);
  assert.deepEqual(atOutput.links, [[1, 0]]);
  const atInput = alignWords(SOURCE_SIDE, TARGET_SIDE, [MAP], true); // rows 1 and 2
  assert.deepEqual(
    atInput.weights[0].map((weight) => weight.toFixed(6)),
    ["0.350000", "0.300000"],
  );
  assert.deepEqual(atInput.links, [
    [0, 0],
    [1, 0],
  ]);
});

test("the mean of several maps is aligned", () => {
  const zero = { ...MAP, weights: MAP.weights.map(() => 0) };
  const [[first]] = alignWords(SOURCE_SIDE, TARGET_SIDE, [MAP, zero], false).weights;
  assert.ok(Math.abs(first - 0.075) < 1e-9);
});
