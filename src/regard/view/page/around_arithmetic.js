/** The arithmetic around an attention, in double precision: normalisation, activations, probabilities. Nothing here draws. */

import { dotProduct } from "./inside_arithmetic.js";

/** Mean, deviation, and each number less the mean, divided by the deviation, times its gain, plus its bias. */
export function layerNorm({ x, gain, bias, epsilon }) {
  const mean = x.reduce((sum, value) => sum + value, 0) / x.length;
  const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
  const deviation = Math.sqrt(variance + epsilon);
  const standard = x.map((value) => (value - mean) / deviation);
  return { mean, deviation, standard, output: standard.map((value, index) => value * gain[index] + bias[index]) };
}

/** The error function as a sum of positive terms, so that none of its digits is lost. */
export function errorFunction(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let [term, sum] = [x, x];
  for (let index = 1; Math.abs(term) > Math.abs(sum) * 1e-17; index += 1) {
    term *= (2 * x * x) / (2 * index + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

const BENDS = {
  relu: (x) => Math.max(0, x),
  gelu: (x) => (x * (1 + errorFunction(x / Math.SQRT2))) / 2,
  silu: (x) => x / (1 + Math.exp(-x)),
};

/** The activation of that name at x. */
export function activated(name, x) {
  return BENDS[name](x);
}

/** The tokens' logits from the hidden state where their rows are there, and the softmax's probabilities of them. */
export function outputWork({ hidden, log_total, tokens }) {
  const logits = tokens.map(({ logit, weight, bias }) => (weight ? dotProduct(weight, hidden) + bias : logit));
  return { logits, probabilities: logits.map((logit) => Math.exp(logit - log_total)) };
}
