// @ts-check
/** The arithmetic around an attention, in double precision: layer norm, activations, the output layer. */

import { dotProduct } from "./attention.js";

/** @import { Vector } from "./attention.js" */
/** @typedef {{ x: Vector, gain: Vector, bias: Vector, epsilon: number, is_centered: boolean, output: Vector }} Norm */

/**
 * One sub-layer of a block with its residual connection.
 * @typedef {object} Sublayer
 * @property {"self-attention" | "cross-attention" | "recurrence" | "feed-forward"} kind
 * @property {number | null} attention the index of its attention in the trace
 * @property {Vector} x
 * @property {Norm | null} pre_norm
 * @property {Vector} output
 * @property {Vector} residual_sum x + output
 * @property {Norm | null} post_norm
 */

/**
 * @typedef {object} FeedForward
 * @property {string} activation an ActivationName
 * @property {Vector} x
 * @property {Vector} fc1_output
 * @property {Vector} activated
 * @property {Vector | null} fc3_output of a gated network, which multiplies `activated` by it
 * @property {Vector} output
 * @property {number} fc1_row the row of W_1 that is given
 * @property {Vector | null} fc1_weight null where a file has left the matrix out
 * @property {number | null} fc1_bias
 * @property {number} fc2_row
 * @property {Vector | null} fc2_weight
 * @property {number | null} fc2_bias
 */

/** @typedef {{ token: Vector, scale: number, position: Vector | null, output: Vector, norm: Norm | null }} Embedding */

/**
 * @typedef {object} Block
 * @property {number} number
 * @property {boolean} is_last
 * @property {number | null} previous_block an attention of it, by its index in the trace
 * @property {number | null} next_block
 * @property {Embedding | null} embedding
 * @property {Sublayer[]} sublayers
 * @property {number} attention_sublayer the index of the attention in question among the sub-layers
 * @property {FeedForward} feed_forward
 * @property {Norm | null} last_norm
 * @property {{ activation: string, dense_output: Vector, norm: Norm } | null} head
 */

/** @typedef {{ piece: string, rank: number, logit: number, is_chosen: boolean, weight: Vector | null, bias: number }} Candidate */
/** @typedef {{ vocabulary: number, hidden: Vector, log_partition: number, tokens: Candidate[] }} OutputLayer */

/**
 * Mean and standard deviation of x, and each number less the mean, divided by the deviation, times its gain, plus its bias.
 * RMSNorm subtracts no mean.
 * @param {Pick<Norm, "x" | "gain" | "bias" | "epsilon" | "is_centered">} norm
 */
export function layerNorm({ x, gain, bias, epsilon, is_centered }) {
  const mean = is_centered ? x.reduce((sum, value) => sum + value, 0) / x.length : 0;
  const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
  const deviation = Math.sqrt(variance + epsilon);
  const standard = x.map((value) => (value - mean) / deviation);
  return { mean, deviation, standard, output: standard.map((value, index) => value * gain[index] + bias[index]) };
}

/**
 * The error function as a sum of positive terms, so that no digit is lost.
 * @param {number} x
 */
export function errorFunction(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let [term, sum] = [x, x];
  for (let index = 1; Math.abs(term) > Math.abs(sum) * 1e-17; index += 1) {
    term *= (2 * x * x) / (2 * index + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/** Activations by their names in a config: how people write the name, and the function. */
export const ACTIVATIONS = {
  relu: { label: "ReLU", apply: (/** @type {number} */ x) => Math.max(0, x) },
  gelu: { label: "GELU", apply: (/** @type {number} */ x) => (x * (1 + errorFunction(x / Math.SQRT2))) / 2 },
  gelu_tanh: {
    label: "GELU",
    apply: (/** @type {number} */ x) => (x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))) / 2,
  },
  silu: { label: "SiLU", apply: (/** @type {number} */ x) => x / (1 + Math.exp(-x)) },
};
/** @typedef {keyof typeof ACTIVATIONS} ActivationName */

/**
 * The candidates' logits, from the hidden state where their rows are given, and their probabilities.
 * @param {Pick<OutputLayer, "hidden" | "log_partition" | "tokens">} output
 */
export function outputProbabilities({ hidden, log_partition, tokens }) {
  const logits = tokens.map(({ logit, weight, bias }) => (weight ? dotProduct(weight, hidden) + bias : logit));
  return { logits, probabilities: logits.map((logit) => Math.exp(logit - log_partition)) };
}
