/** The worked example "AI가 세상을 바꾼다": small numbers that we chose so that they can be followed by hand; no model is needed. */

import { workThrough } from "./inside_arithmetic.js";

/** Four tokens, each a vector of four numbers: is it a thing, a particle, what is acted on, what acts. */
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

/** The words as they stand in the sentence. */
export const IN_ORDER = EXAMPLE.tokens.map((_, word) => word);

/** The example in the form of the API's `Inside`, for one query; `isCausal` hides later words as a decoder does; `order` says which word stands where. */
export function exampleInside(query, isCausal, order = IN_ORDER) {
  const { queryWeight, keyWeight, valueWeight } = EXAMPLE;
  const [tokens, inputs] = [EXAMPLE.tokens, EXAMPLE.inputs].map((rows) => order.map((word) => rows[word]));
  const given = {
    layer: {
      name: "example",
      use: "encoder-self",
      layer: 0,
      heads: 1,
      score: "scaled_dot",
      queries: "source",
      keys: "source",
      deviation: 0,
    },
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
    scale: 0.5,
    additive: null,
    general: null,
    is_rotary: false,
    visible: tokens.map((_, key) => !isCausal || key <= query),
  };
  return { ...given, weights: workThrough(given).weights };
}
