/** What a head does, in a few numbers: to how many tokens it attends, and how much to which neighbours. */

const SAMPLED = 20_000; // weights of a large map that are enough to find a high one
const SHORT = 64; // columns; in a longer map few weights are near 1

/**
 * `reach`: to how many tokens a row attends at once (the exponential of its entropy, averaged over the rows). In
 * self-attention also the shares of weight on the `same`, `previous` and `next` token (else 0); `end`: on the last column.
 * @param {ArrayLike<number>} weights
 * @param {number} rows
 * @param {number} columns
 * @param {boolean} isSelf
 */
export function headStats(weights, rows, columns, isSelf) {
  const stats = { reach: 0, same: 0, previous: 0, next: 0, end: 0 };
  for (let row = 0; row < rows; row += 1) {
    const at = (/** @type {number} */ column) =>
      column >= 0 && column < columns ? weights[row * columns + column] : 0;
    stats.reach += Math.exp(rowEntropy(weights, row * columns, columns)) / rows;
    stats.end += at(columns - 1) / rows;
    if (!isSelf) continue;
    stats.same += at(row) / rows;
    stats.previous += at(row - 1) / rows;
    stats.next += at(row + 1) / rows;
  }
  return stats;
}

/**
 * @param {ArrayLike<number>} weights
 * @param {number} start
 * @param {number} columns
 */
function rowEntropy(weights, start, columns) {
  let entropy = 0;
  for (let index = start; index < start + columns; index += 1) {
    if (weights[index] > 0) entropy -= weights[index] * Math.log(weights[index]);
  }
  return entropy;
}

/**
 * A weight that only a small share of a map's weights exceeds; in a large map, of an even sample of them.
 * @param {ArrayLike<number>} weights
 */
function highWeight(weights, share = 0.004) {
  const step = Math.max(1, Math.floor(weights.length / SAMPLED));
  const sample = Float32Array.from({ length: Math.ceil(weights.length / step) }, (_, index) => weights[index * step]);
  sample.sort();
  return sample.length ? sample[Math.max(0, Math.ceil(sample.length * (1 - share)) - 1)] : 0;
}

/**
 * The weight that is drawn darkest: 1 where rows are short, so that heads can be compared; else one that few exceed.
 * @param {ArrayLike<number>} weights
 * @param {number} columns
 */
export function darkestWeight(weights, columns) {
  return columns <= SHORT ? 1 : Math.min(1, Math.max(4 / columns, highWeight(weights)));
}
