// @ts-check
/** The worked example "AI가 세상을 바꾼다": small numbers that can be followed by hand; no model is needed. */

import { attend, largestDifference } from "./attention.js";

/** Four tokens, each a vector of four features: is it a thing, a particle, what is acted on, what acts. */
export const EXAMPLE = {
  tokens: ["AI", "가", "세상을", "바꾼다"],
  inputs: [
    [1, 0, 0, 1],
    [0, 1, 0, 0],
    [1, 0, 1, 0],
    [0, 0, 1, 1],
  ],
  queryWeight: [
    [1, 2, 0, 0],
    [0, 0, 1, 0],
    [1, 0, 0, 1],
    [2, 1, 0, 0],
  ],
  keyWeight: [
    [1, 0, 0, 0],
    [0, 1, 0, 0],
    [0, 0, 2, 0],
    [0, 0, 0, 1],
  ],
  // The three numbers of a value can be read as meanings: AI, world, change.
  valueWeight: [
    [0.5, 0.5, -0.5, 0.5],
    [0.5, 0, 0.5, -0.5],
    [-0.5, 0, 0.5, 0.5],
  ],
};

/** The order of the words in the sentence: order[position] is a word of the example. */
export const IN_ORDER = EXAMPLE.tokens.map((_, word) => word);

/**
 * The example in the form in which the server sends a query of a model.
 * @param {number} query
 * @param {boolean} isCausal later words are hidden, as in a decoder
 * @param {number[]} [order]
 */
export function exampleDetail(query, isCausal, order = IN_ORDER) {
  const { queryWeight, keyWeight, valueWeight } = EXAMPLE;
  const tokens = order.map((word) => EXAMPLE.tokens[word]);
  const inputs = order.map((word) => EXAMPLE.inputs[word]);
  const layer = {
    name: "example",
    role: "encoder-self",
    layer: 0,
    heads: 1,
    score: "scaled_dot",
    queries: "source",
    keys: "source",
    deviation: 0,
  };
  const detail = {
    layer,
    head: 0,
    query_index: query,
    query_label: tokens[query],
    key_labels: tokens,
    x: inputs[query],
    key_inputs: inputs,
    query_weight: queryWeight,
    query_bias: null,
    key_weight: keyWeight,
    key_bias: null,
    value_weight: valueWeight,
    value_bias: null,
    output_weight: null,
    output_bias: null,
    output: null,
    score_parameters: {},
    is_rotary: false,
    rotary_base: 10000,
    position_bias: null,
    visible: tokens.map((_, key) => !isCausal || key <= query),
    block: null,
    prediction: null,
  };
  return { ...detail, weights: attend(detail).weights };
}

/**
 * Another order than this one, by chance.
 * @param {number[]} order
 * @param {() => number} [random]
 * @returns {number[]}
 */
export function shuffled(order, random = Math.random) {
  const left = [...order];
  const drawn = order.map(() => left.splice(Math.floor(random() * left.length), 1)[0]);
  const isOrder = (/** @type {number[]} */ other) => drawn.every((word, position) => word === other[position]);
  return isOrder(order) || isOrder(IN_ORDER) ? shuffled(order, random) : drawn;
}

/**
 * Every word's weights and output; rows and, of the weights, columns are in the given order.
 * @param {number[]} order
 * @param {boolean} isCausal
 */
export function exampleResults(order, isCausal) {
  const works = order.map((_, query) => attend(exampleDetail(query, isCausal, order)));
  return { weights: works.map(({ weights }) => weights), outputs: works.map(({ context }) => context) };
}

/**
 * How far the words' weights and outputs in an order are from those in the sentence's own order, word for word.
 * @param {number[]} order
 * @param {boolean} isCausal
 */
export function orderDifference(order, isCausal) {
  const [before, after] = [exampleResults(IN_ORDER, isCausal), exampleResults(order, isCausal)];
  const differences = order.map((word, position) => {
    const weights = order.map((key) => before.weights[word][key]);
    return Math.max(
      largestDifference(weights, after.weights[position]),
      largestDifference(before.outputs[word], after.outputs[position]),
    );
  });
  return Math.max(...differences);
}
