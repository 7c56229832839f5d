// @ts-check
/** The lesson's experiments that need no model. Their numbers are the same on every machine: random ones have a seed. */

import { attend, dotProduct, linear, maskedSoftmax, steepestSlope, weightedSum } from "./attention.js";
import { sinusoidalEncoding } from "./positions.js";
import { exampleDetail } from "./worked_example.js";

/** @import { Matrix, Vector } from "./attention.js" */

// --- random numbers ---

/**
 * Uniform numbers in [0, 1): mulberry32.
 * @param {number} seed
 * @returns {() => number}
 */
export function seededRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Normal numbers of mean 0 and variance 1, by Box and Muller's formula.
 * @param {number} seed
 * @returns {() => number}
 */
export function seededNormal(seed) {
  const random = seededRandom(seed);
  return () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

// --- a score for each word ---

/** Encoder states with three features: is it an animal, a drink, an action. */
const STATES = /** @type {Record<string, Vector>} */ ({
  the: [0.2, 0.1, 0],
  cat: [2, 0.2, 0.3],
  drinks: [0.2, 0.6, 2],
  pleases: [0.3, 0.2, 1.8],
  milk: [0.1, 2, 0.4],
});
/** The same words in two sentences: the word that French needs next is at another position. */
export const SENTENCES = [
  ["the", "cat", "drinks", "milk"],
  ["milk", "pleases", "the", "cat"],
];
/** The decoder's state just before it outputs a French word. */
export const DECODER_STATES = /** @type {Record<string, Vector>} */ ({
  chat: [2, 0, 0.2],
  boit: [0.1, 0.3, 2],
  lait: [0, 2, 0.3],
});
/** Weights learned for the first sentence, one for each position: they are the same for every input. */
export const FIXED_WEIGHTS = [0.05, 0.8, 0.1, 0.05];

/**
 * Scores, weights and context of one decoder state over the words of a sentence.
 * @param {string[]} words
 * @param {Vector} state
 */
export function lookBack(words, state) {
  const states = words.map((word) => STATES[word]);
  const scores = states.map((each) => dotProduct(state, each));
  const { weights } = maskedSoftmax(
    scores,
    words.map(() => true),
  );
  return { states, scores, weights };
}

// --- four score functions ---

const HALF = [
  [0.5, 0, 0],
  [0, 0.5, 0],
  [0, 0, 0.5],
];

/** Parameters of the four score functions. */
export const SCORE_PARAMETERS = {
  dot: {},
  scaled_dot: {},
  general: {
    "project_keys.weight": [
      [1, 0, 0],
      [0, 1, 0.5],
      [0.5, 0, 1],
    ],
  },
  additive: {
    "query.weight": HALF,
    "project_keys.weight": HALF,
    "project_keys.bias": [[-1.5, -1.5, -1.5]],
    vector: [[4, 4, 4]],
  },
};

/**
 * The scores and weights of a query over the first sentence.
 * @param {keyof typeof SCORE_PARAMETERS} score
 * @param {number} factor how much longer the query is than the decoder's state before "chat"
 */
export function scoreWords(score, factor) {
  const query = DECODER_STATES.chat.map((value) => value * factor);
  const keys = SENTENCES[0].map((word) => STATES[word]);
  const { scores, weights } = attend({
    layer: { score },
    query_index: 0,
    x: query,
    key_inputs: keys,
    query,
    keys,
    values: keys,
    query_weight: null,
    query_bias: null,
    key_weight: null,
    key_bias: null,
    value_weight: null,
    value_bias: null,
    output_weight: null,
    score_parameters: SCORE_PARAMETERS[score],
    is_rotary: false,
    rotary_base: 10000,
    position_bias: null,
    visible: keys.map(() => true),
  });
  return { scores, weights };
}

// --- the square root of d ---

export const WIDTHS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
const DRAWN_KEYS = 6;
const DRAWS = 100;
const SEED = 2017;

/**
 * Dot products of random queries and keys, whose numbers have variance 1: [width][draw][key]. A narrower vector is the
 * beginning of a wider one.
 * @returns {number[][][]}
 */
export function dotProductsByWidth() {
  const normal = seededNormal(SEED);
  const widest = WIDTHS[WIDTHS.length - 1];
  const drawVector = () => Array.from({ length: widest }, normal);
  const draws = Array.from({ length: DRAWS }, () => {
    const query = drawVector();
    const keys = Array.from({ length: DRAWN_KEYS }, drawVector);
    return WIDTHS.map((width) => keys.map((key) => dotProduct(query.slice(0, width), key)));
  });
  return WIDTHS.map((_, index) => draws.map((draw) => draw[index]));
}

/**
 * Means over all draws of one width: the scores' standard deviation, the largest weight, and the softmax's largest slope.
 * @param {number[][]} draws dot products: [draw][key]
 * @param {number} divisor
 */
export function softmaxStatistics(draws, divisor) {
  const scores = draws.map((draw) => draw.map((product) => product / divisor));
  const weights = scores.map(
    (row) =>
      maskedSoftmax(
        row,
        row.map(() => true),
      ).weights,
  );
  const all = scores.flat();
  const mean = average(all);
  return {
    deviation: Math.sqrt(average(all.map((score) => (score - mean) ** 2))),
    largest: average(weights.map((row) => Math.max(...row))),
    slope: average(weights.map(steepestSlope)),
  };
}

/** @param {Vector} values */
function average(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

// --- Add & Norm ---

export const DEPTHS = 48;
const STACK_WIDTH = 16;
const GAIN = 0.7; // each layer makes a vector shorter by about this factor

/** @typedef {"plain" | "add" | "add_norm"} StackKind */

/**
 * The size of the signal after each of so many random layers, and the size of the gradient that comes back to the first
 * from each, both relative to the beginning.
 * @param {StackKind} kind
 * @returns {{ signal: Vector, gradient: Vector }} entry i: of a stack of i + 1 layers
 */
export function deepStack(kind) {
  const normal = seededNormal(SEED);
  let x = Array.from({ length: STACK_WIDTH }, normal);
  const start = x;
  let jacobian = identity(STACK_WIDTH); // d x / d start
  const result = /** @type {{ signal: Vector, gradient: Vector }} */ ({ signal: [], gradient: [] });
  for (let depth = 0; depth < DEPTHS; depth += 1) {
    const weight = Array.from({ length: STACK_WIDTH }, () =>
      Array.from({ length: STACK_WIDTH }, () => (normal() * GAIN) / Math.sqrt(STACK_WIDTH)),
    );
    const layer = kind === "plain" ? weight : weight.map((row, i) => row.map((value, j) => value + (i === j ? 1 : 0)));
    x = linear(x, layer);
    jacobian = multiply(layer, jacobian);
    if (kind === "add_norm") {
      jacobian = multiply(normJacobian(x), jacobian);
      x = normalised(x);
    }
    result.signal.push(rootMeanSquare(x) / rootMeanSquare(start));
    result.gradient.push(rootMeanSquare(jacobian.flat()) * Math.sqrt(STACK_WIDTH));
  }
  return result;
}

/** @param {Vector} x */
function normalised(x) {
  const mean = average(x);
  const deviation = Math.sqrt(average(x.map((value) => (value - mean) ** 2)));
  return x.map((value) => (value - mean) / deviation);
}

/**
 * The derivative of layer normalisation: (I - 1/n - y y^T / n) / deviation.
 * @param {Vector} x
 * @returns {Matrix}
 */
function normJacobian(x) {
  const mean = average(x);
  const deviation = Math.sqrt(average(x.map((value) => (value - mean) ** 2)));
  const y = normalised(x);
  return y.map((first, i) =>
    y.map((second, j) => ((i === j ? 1 : 0) - 1 / x.length - (first * second) / x.length) / deviation),
  );
}

/**
 * @param {number} size
 * @returns {Matrix}
 */
function identity(size) {
  return Array.from({ length: size }, (_, i) => Array.from({ length: size }, (_, j) => (i === j ? 1 : 0)));
}

/**
 * @param {Matrix} left
 * @param {Matrix} right
 * @returns {Matrix}
 */
function multiply(left, right) {
  return left.map((row) =>
    right[0].map((_, column) => row.reduce((sum, value, k) => sum + value * right[k][column], 0)),
  );
}

/** @param {Vector} values */
function rootMeanSquare(values) {
  return Math.sqrt(average(values.map((value) => value * value)));
}

// --- which word does "it" stand for? ---

/**
 * The trained model of benchmarks/lesson_figures.py: "it" attends to all words twice. The second context is a sum of word
 * vectors; its dot product with the vector of a noun is the score of that noun.
 * @typedef {{ words: string[], genders: Record<string, string>, weights: Record<string, Matrix> }} PronounModel
 */

/**
 * Both attentions of "it" over the words of a sentence, and the probability of each noun.
 * @param {PronounModel} model
 * @param {string[]} words
 * @param {number | null} hidden the position of a word that "it" cannot attend to
 */
export function resolvePronoun({ words: vocabulary, genders, weights }, words, hidden = null) {
  const visible = words.map((_, index) => index !== hidden);
  const vectorOf = (/** @type {string} */ word) => weights.tokens[vocabulary.indexOf(word)];
  const vectors = words.map((word, position) =>
    vectorOf(word).map((value, i) => value + weights.positions[position][i]),
  );
  const attendWith = (/** @type {number} */ layer, /** @type {Vector} */ x, /** @type {Matrix} */ values) => {
    const query = linear(x, weights[`query${layer}`]);
    const keys = vectors.map((vector) => linear(vector, weights[`key${layer}`]));
    const scores = keys.map((key) => dotProduct(query, key) / Math.sqrt(query.length));
    const softmax = maskedSoftmax(scores, visible);
    return { weights: softmax.weights, context: weightedSum(softmax.weights, values) };
  };
  const it = vectors[words.indexOf("it")];
  const first = attendWith(
    1,
    it,
    vectors.map((vector) => linear(vector, weights.value1)),
  );
  const second = attendWith(
    2,
    it.map((value, i) => value + first.context[i]),
    words.map(vectorOf),
  );
  const logits = Object.keys(genders).map((noun) => dotProduct(second.context, vectorOf(noun)));
  const { weights: probabilities } = maskedSoftmax(
    logits,
    logits.map(() => true),
  );
  const nouns = Object.keys(genders).map((noun, index) => ({ noun, probability: probabilities[index] }));
  const elle = nouns.reduce((sum, { noun, probability }) => (genders[noun] === "f" ? sum + probability : sum), 0);
  return { first: first.weights, second: second.weights, nouns, elle };
}

// --- order ---

/**
 * The output vector of the worked example's first word, "AI", with its words in an order; with positions, the sinusoidal
 * encoding of each position is added to the word's vector.
 * @param {number[]} order
 * @param {boolean} hasPositions
 */
export function outputInOrder(order, hasPositions) {
  const detail = exampleDetail(order.indexOf(0), false, order);
  const width = detail.x.length;
  const { values } = sinusoidalEncoding(order.length, width);
  const moved = detail.key_inputs.map((input, position) =>
    input.map((value, i) => value + (hasPositions ? values[position * width + i] : 0)),
  );
  return attend({ ...detail, x: moved[detail.query_index], key_inputs: moved }).context;
}
