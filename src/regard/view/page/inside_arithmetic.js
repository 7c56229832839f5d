/**
 * The arithmetic of one query in one head, in double precision, from the model's own float32 numbers. Nothing here draws.
 *
 * What comes in is the API's `Inside`; where a layer has matrices the work begins at x, otherwise at the given query, keys and values.
 */

import { turned } from "./encodings.js";

const LARGEST_EXPONENT = 50; // scores above this are moved down before e^score, which changes no weight

/** sum_i left_i right_i, from the left to the right. */
export function dotProduct(left, right) {
  let sum = 0;
  for (let index = 0; index < left.length; index += 1) sum += left[index] * right[index];
  return sum;
}

/** weight x + bias, for a matrix given as its rows. */
export function linear(x, weight, bias) {
  return weight.map((row, index) => dotProduct(row, x) + (bias?.[index] ?? 0));
}

/** Each product of a dot product: [{left, right, product}]. */
export function productTerms(left, right) {
  return left.map((value, index) => ({ left: value, right: right[index], product: value * right[index] }));
}

/** softmax over the visible scores: {shift, exponents, total, weights}; what is not visible has exponent and weight 0. */
export function softmaxOver(scores, visible) {
  const seen = scores.filter((_, index) => visible[index]);
  const largest = seen.length ? Math.max(...seen) : 0;
  const shift = largest > LARGEST_EXPONENT ? largest : 0;
  const exponents = scores.map((score, index) => (visible[index] ? Math.exp(score - shift) : 0));
  const total = exponents.reduce((sum, value) => sum + value, 0);
  return { shift, exponents, total, weights: exponents.map((value) => (total > 0 ? value / total : 0)) };
}

/** sum_k weights_k values_k. */
export function weightedSum(weights, values) {
  return values[0].map((_, dimension) => weights.reduce((sum, weight, key) => sum + weight * values[key][dimension], 0));
}

/** Query, keys and values: from x where the layer has matrices, else as given; `unturned` are a rotary query and keys before their turn. */
export function projected(inside) {
  const project = (name, inputs, given) =>
    inside[`${name}_weight`] ? inputs.map((x) => linear(x, inside[`${name}_weight`], inside[`${name}_bias`])) : given;
  const [query] = project("query", [inside.x], [inside.query]);
  const keys = project("key", inside.key_inputs, preparedKeys(inside));
  const isToTurn = inside.is_rotary && Boolean(inside.query_weight); // as given, they are turned
  return {
    query: isToTurn ? turnedVector(query, inside.query_index) : query,
    keys: isToTurn ? keys.map(turnedVector) : keys,
    values: project("value", inside.key_inputs, inside.values),
    unturned: { query, keys },
  };
}

/** By how many radians a pair of numbers of a rotary query or key is turned. */
export function turningAngle(position, pair, width) {
  return position / 10000 ** ((2 * pair) / width);
}

/** A rotary query or key at its position: each pair of numbers (i, i + D/2) turned by its angle. */
export function turnedVector(vector, position) {
  const half = vector.length / 2;
  const pairs = vector.slice(0, half).map((first, pair) => turned([first, vector[half + pair]], turningAngle(position, pair, vector.length)));
  return [0, 1].flatMap((side) => pairs.map((pair) => pair[side]));
}

function preparedKeys({ keys, general }) {
  return general ? general.unprepared_keys.map((key) => linear(key, general.weight)) : keys;
}

/** The additive score's two projections: W_q q, and W_k k + b of every key; null for other scores. */
export function additiveSides({ additive, keys }, query) {
  if (!additive) return null;
  const { query_weight, key_weight, key_bias, vector } = additive;
  return {
    query: query_weight ? linear(query, query_weight) : additive.projected_query,
    keys: key_weight ? keys.map((key) => linear(key, key_weight, key_bias)) : additive.projected_keys,
    vector,
  };
}

/** The terms whose sum is the score of one key, before it is divided: {left, right, product}, and `inner` = tanh(left + right) if additive. */
export function scoreTerms(work, key) {
  if (!work.additive) return productTerms(work.query, work.keys[key]);
  const { query, keys, vector } = work.additive;
  return vector.map((factor, index) => {
    const inner = Math.tanh(query[index] + keys[key][index]);
    return { left: query[index], right: keys[key][index], inner, factor, product: factor * inner };
  });
}

/** Every step from x to this head's part of the output. */
export function workThrough(inside, { isScaled = true, isMasked = true } = {}) {
  const start = projected(inside);
  const additive = additiveSides(inside, start.query);
  const work = { ...start, additive };
  const raw = start.keys.map((_, key) => scoreTerms(work, key).reduce((sum, term) => sum + term.product, 0));
  const divisor = inside.layer.score === "scaled_dot" ? Math.sqrt(start.query.length) : 1;
  const scores = raw.map((score) => (isScaled ? score / divisor : score));
  const visible = isMasked ? inside.visible : inside.visible.map(() => true);
  const soft = softmaxOver(scores, visible);
  const context = weightedSum(soft.weights, start.values);
  const part = inside.output_weight ? linear(context, inside.output_weight) : null;
  return { ...work, raw, divisor, scores, visible, ...soft, context, part };
}

/** How spread out weights are, in bits: 0 when one key has all, log2 K when all have the same. */
export function entropyBits(weights) {
  return weights.reduce((sum, weight) => (weight > 0 ? sum - weight * Math.log2(weight) : sum), 0);
}

/** The softmax's largest slope, weight (1 - weight): what is left of a gradient that passes it. */
export function steepestSlope(weights) {
  return Math.max(...weights.map((weight) => weight * (1 - weight)));
}

/** The largest |one - other|. */
export function largestDifference(one, other) {
  return one.reduce((largest, value, index) => Math.max(largest, Math.abs(value - other[index])), 0);
}
