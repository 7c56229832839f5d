// @ts-check
/**
 * The arithmetic of one query in one head, in double precision, from the model's own float32 numbers.
 *
 * Where a layer has projection matrices the work begins at x, otherwise at the given query, keys and values.
 */

import { rotated } from "./positions.js";

/** @typedef {number[]} Vector */
/** @typedef {number[][]} Matrix a list of rows */
/** @typedef {keyof typeof SCORES} ScoreName */
/** @typedef {Record<string, Matrix>} ScoreParameters by their names in attention/scores.py; a vector is one row */

/**
 * What the server sends of one query in one head, as far as this module needs it.
 * @typedef {object} HeadInput
 * @property {{ score: string }} layer
 * @property {number} query_index
 * @property {Vector} x
 * @property {Matrix} key_inputs
 * @property {Vector} [query]
 * @property {Matrix} [keys]
 * @property {Matrix} [values]
 * @property {Matrix | null} query_weight
 * @property {Vector | null} query_bias
 * @property {Matrix | null} key_weight
 * @property {Vector | null} key_bias
 * @property {Matrix | null} value_weight
 * @property {Vector | null} value_bias
 * @property {Matrix | null} output_weight
 * @property {ScoreParameters} score_parameters
 * @property {boolean} is_rotary
 * @property {number} rotary_base of the angles
 * @property {Vector | null} position_bias what relative positions add to the score of each key
 * @property {boolean[]} visible
 */

/** @typedef {{ left: number, right: number, product: number }} Product */
/** @typedef {Product & { written?: (string | number)[] }} ScoreTerm `written`: how it is computed, if not as left × right */
/** @typedef {{ query: Vector, keys: Matrix, values: Matrix, unrotated: { query: Vector, keys: Matrix } }} Projections */
/** @typedef {{ shift: number, exponentials: Vector, total: number, weights: Vector }} Softmax */

const LARGEST_EXPONENT = 50; // larger scores are shifted down before e^score, which changes no weight

/**
 * @param {Vector} left
 * @param {Vector} right
 */
export function dotProduct(left, right) {
  let sum = 0;
  for (let index = 0; index < left.length; index += 1) sum += left[index] * right[index];
  return sum;
}

/**
 * weight x + bias.
 * @param {Vector} x
 * @param {Matrix} weight
 * @param {Vector | null} [bias]
 * @returns {Vector}
 */
export function linear(x, weight, bias) {
  return weight.map((row, index) => dotProduct(row, x) + (bias?.[index] ?? 0));
}

/**
 * Each product of a dot product.
 * @param {Vector} left
 * @param {Vector} right
 * @returns {Product[]}
 */
export function products(left, right) {
  return left.map((value, index) => ({ left: value, right: right[index], product: value * right[index] }));
}

/**
 * The softmax over the visible scores; a hidden key has exponential and weight 0.
 * @param {Vector} scores
 * @param {boolean[]} visible
 * @returns {Softmax}
 */
export function maskedSoftmax(scores, visible) {
  const seen = scores.filter((_, index) => visible[index]);
  const largest = seen.length ? Math.max(...seen) : 0;
  const shift = largest > LARGEST_EXPONENT ? largest : 0;
  const exponentials = scores.map((score, index) => (visible[index] ? Math.exp(score - shift) : 0));
  const total = exponentials.reduce((sum, value) => sum + value, 0);
  return { shift, exponentials, total, weights: exponentials.map((value) => (total > 0 ? value / total : 0)) };
}

/**
 * The sum over keys of weight times value.
 * @param {Vector} weights
 * @param {Matrix} values
 * @returns {Vector}
 */
export function weightedSum(weights, values) {
  return values[0].map((_, dimension) =>
    weights.reduce((sum, weight, key) => sum + weight * values[key][dimension], 0),
  );
}

/**
 * By how many radians a pair of numbers of a rotary query or key is turned.
 * @param {number} position
 * @param {number} pair
 * @param {number} width
 * @param {number} [base]
 */
export function rotaryAngle(position, pair, width, base = 10000) {
  return position / base ** ((2 * pair) / width);
}

/**
 * A rotary query or key at its position: each pair of numbers (i, i + D/2) turned by its angle.
 * @param {Vector} vector
 * @param {number} position
 * @param {number} [base]
 * @returns {Vector}
 */
export function rotaryVector(vector, position, base) {
  const half = vector.length / 2;
  const pairs = vector
    .slice(0, half)
    .map((first, pair) => rotated([first, vector[half + pair]], rotaryAngle(position, pair, vector.length, base)));
  return [0, 1].flatMap((side) => pairs.map((pair) => pair[side]));
}

/**
 * Query, keys and values: from x where the layer has matrices, else as given; `unrotated` before rotary positions.
 * @param {HeadInput} input
 * @returns {Projections}
 */
function project(input) {
  const { query_weight, query_bias, key_weight, key_bias, value_weight, value_bias } = input;
  const query = query_weight ? linear(input.x, query_weight, query_bias) : (input.query ?? []);
  const keys = key_weight ? input.key_inputs.map((x) => linear(x, key_weight, key_bias)) : (input.keys ?? []);
  const values = value_weight ? input.key_inputs.map((x) => linear(x, value_weight, value_bias)) : (input.values ?? []);
  const unrotated = { query, keys };
  if (!input.is_rotary || !query_weight) return { query, keys, values, unrotated }; // as given, they are rotated already
  const base = input.rotary_base;
  const turned = keys.map((key, place) => rotaryVector(key, place, base));
  return { query: rotaryVector(query, input.query_index, base), keys: turned, values, unrotated };
}

/** @typedef {{ query: Vector, keys: Matrix }} Compared the vectors whose numbers a score combines */

/**
 * A score function, as the classes in attention/scores.py: what it does to the query and the keys first, and the terms
 * whose sum is the score of one key, before it is scaled.
 * @typedef {object} ScoreFunction
 * @property {(given: Compared, parameters: ScoreParameters) => Compared} [prepare]
 * @property {(query: Vector, key: Vector, parameters: ScoreParameters) => ScoreTerm[]} terms
 */

/** @satisfies {Record<string, ScoreFunction>} */
export const SCORES = {
  dot: { terms: products },
  scaled_dot: { terms: products },
  general: {
    prepare: ({ query, keys }, { "project_keys.weight": weight }) => ({
      query,
      keys: keys.map((key) => linear(key, weight)),
    }),
    terms: products,
  },
  additive: {
    prepare: ({ query, keys }, parameters) => ({
      query: linear(query, parameters["query.weight"]),
      keys: keys.map((key) => linear(key, parameters["project_keys.weight"], parameters["project_keys.bias"][0])),
    }),
    terms: (query, key, { vector: [vector] }) =>
      vector.map((factor, index) => {
        const [left, right] = [query[index], key[index]];
        const written = [factor, " × tanh(", left, " + ", right, ")"];
        return { left, right, product: factor * Math.tanh(left + right), written };
      }),
  },
};

/**
 * The terms whose sum is the score of one key.
 * @param {{ score: ScoreFunction, compared: Compared, parameters: ScoreParameters }} work
 * @param {number} key
 */
export function scoreTerms({ score, compared, parameters }, key) {
  return score.terms(compared.query, compared.keys[key], parameters);
}

/** @typedef {ReturnType<typeof attend>} AttentionWork */

/**
 * Every step from x to this head's part of the output, also without scaling or without the mask.
 * @param {HeadInput} input
 * @param {{ isScaled?: boolean, isMasked?: boolean }} [options]
 */
export function attend(input, { isScaled = true, isMasked = true } = {}) {
  const projections = project(input);
  /** @type {ScoreFunction} */
  const score = SCORES[/** @type {ScoreName} */ (input.layer.score)];
  const parameters = input.score_parameters;
  const compared = score.prepare?.(projections, parameters) ?? projections;
  const work = { ...projections, score, compared, parameters };
  const raw = work.keys.map((_, key) => scoreTerms(work, key).reduce((sum, { product }) => sum + product, 0));
  const divisor = input.layer.score === "scaled_dot" ? Math.sqrt(work.query.length) : 1;
  const scaled = raw.map((score) => (isScaled ? score / divisor : score));
  const scores = scaled.map((score, key) => score + (input.position_bias?.[key] ?? 0));
  const visible = isMasked ? input.visible : input.visible.map(() => true);
  const softmax = maskedSoftmax(scores, visible);
  const context = weightedSum(softmax.weights, work.values);
  const part = input.output_weight ? linear(context, input.output_weight) : null;
  return { ...work, raw, divisor, scaled, scores, visible, ...softmax, context, part };
}

/**
 * How spread out weights are, in bits: 0 when one key has all, log2 K when all have the same.
 * @param {Vector} weights
 */
export function entropyBits(weights) {
  return weights.reduce((sum, weight) => (weight > 0 ? sum - weight * Math.log2(weight) : sum), 0);
}

/**
 * The softmax's largest slope, weight (1 - weight): what is left of a gradient that passes it.
 * @param {Vector} weights
 */
export function steepestSlope(weights) {
  return Math.max(...weights.map((weight) => weight * (1 - weight)));
}

/**
 * The largest absolute difference between two vectors.
 * @param {Vector} left
 * @param {Vector} right
 */
export function largestDifference(left, right) {
  return left.reduce((largest, value, index) => Math.max(largest, Math.abs(value - right[index])), 0);
}

/**
 * The index of the largest number.
 * @param {Vector} values
 */
export function argmax(values) {
  return values.indexOf(Math.max(...values));
}
