import assert from "node:assert/strict";
import test from "node:test";
import { largestDifference } from "../../src/regard/web/math/attention.js";
import {
  DECODER_STATES,
  DEPTHS,
  deepStack,
  dotProductsByWidth,
  FIXED_WEIGHTS,
  lookBack,
  outputInOrder,
  resolvePronoun,
  SCORE_PARAMETERS,
  SENTENCES,
  scoreWords,
  seededNormal,
  seededRandom,
  softmaxStatistics,
  WIDTHS,
} from "../../src/regard/web/math/lesson.js";
import figures from "../../src/regard/web/views/start/figures.json" with { type: "json" };

const sum = (values) => values.reduce((total, value) => total + value, 0);
const near = (value, expected, tolerance) =>
  assert.ok(Math.abs(value - expected) <= tolerance, `${value}, expected ${expected}`);

test("seeded numbers are the published ones of mulberry32", () => {
  const random = seededRandom(1);
  for (const expected of [0.6270739405881613, 0.002735721180215478, 0.5274470399599522])
    near(random(), expected, 1e-15);
});

test("seeded normal numbers have mean 0 and variance 1", () => {
  const normal = seededNormal(3);
  const values = Array.from({ length: 20000 }, normal);
  near(sum(values) / values.length, 0, 0.03);
  near(sum(values.map((value) => value ** 2)) / values.length, 1, 0.05);
});

test("attention follows a word, fixed weights follow a position", () => {
  for (const [index, words] of SENTENCES.entries()) {
    const { weights } = lookBack(words, DECODER_STATES.chat);
    near(sum(weights), 1, 1e-12);
    assert.equal(words[weights.indexOf(Math.max(...weights))], "cat");
    assert.equal(words[FIXED_WEIGHTS.indexOf(Math.max(...FIXED_WEIGHTS))] === "cat", index === 0);
  }
});

test("every score but the additive one grows with the query", () => {
  const bound = sum(SCORE_PARAMETERS.additive.vector[0].map(Math.abs));
  for (const name of ["dot", "scaled_dot", "general"]) {
    const [short, long] = [scoreWords(name, 1).scores, scoreWords(name, 10).scores];
    for (const [index, score] of short.entries()) near(long[index], 10 * score, 1e-9);
  }
  assert.ok(scoreWords("additive", 1000).scores.every((score) => Math.abs(score) <= bound));
});

test("dot products have the variance of their width", () => {
  const products = dotProductsByWidth();
  for (const [index, width] of WIDTHS.entries()) {
    near(softmaxStatistics(products[index], Math.sqrt(width)).deviation, 1, 0.15);
  }
  const slopes = products.map((draws) => softmaxStatistics(draws, 1).slope);
  assert.ok(slopes.at(-1) < slopes[0] / 10, "the unscaled softmax saturates");
});

test("Add & Norm keep signal and gradient at their size", () => {
  const [plain, add, both] = ["plain", "add", "add_norm"].map(deepStack);
  assert.ok(plain.gradient[DEPTHS - 1] < 1e-6);
  assert.ok(add.signal[DEPTHS - 1] > 1e3);
  for (const name of ["signal", "gradient"]) {
    for (const size of both[name]) assert.ok(size > 0.2 && size < 5, `${name} ${size}`);
  }
});

const pronounModel = figures.pronoun;
const sentence = (animal, place, adjective) =>
  `the ${animal} did not cross the ${place} because it was too ${adjective}`.split(" ");
const OF_ANIMALS = ["tired", "hungry", "scared"];
const OF_PLACES = ["wide", "long", "busy"];

test("the second attention of the pronoun finds its noun", () => {
  let right = 0;
  let count = 0;
  for (const animal of ["dog", "horse", "cow", "mouse"]) {
    for (const place of ["street", "road", "bridge", "park"]) {
      for (const adjective of [...OF_ANIMALS, ...OF_PLACES]) {
        const noun = OF_ANIMALS.includes(adjective) ? animal : place;
        const words = sentence(animal, place, adjective);
        const { second, nouns, elle } = resolvePronoun(pronounModel, words);
        const [best] = [...nouns].sort((a, b) => b.probability - a.probability);
        const attended = words[second.indexOf(Math.max(...second))];
        count += 1;
        if (best.noun === noun && attended === noun && elle > 0.5 === (pronounModel.genders[noun] === "f")) right += 1;
      }
    }
  }
  assert.ok(right >= 0.95 * count, `${right} of ${count}`);
});

test("a hidden noun gets no attention and is no longer found", () => {
  const words = sentence("dog", "street", "wide");
  const { first, second, nouns } = resolvePronoun(pronounModel, words, 6);
  assert.equal(first[6], 0);
  assert.equal(second[6], 0);
  const probability = (noun) => nouns.find((each) => each.noun === noun).probability;
  assert.ok(probability("street") < 0.5);
});

test("without positions an order does not change the output", () => {
  const order = [3, 2, 0, 1];
  const difference = (has) => largestDifference(outputInOrder([0, 1, 2, 3], has), outputInOrder(order, has));
  near(difference(false), 0, 1e-12);
  assert.ok(difference(true) > 0.1);
});
