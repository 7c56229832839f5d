/** What a head does, in a few numbers: how many tokens it looks at, and which neighbours it prefers. Nothing here draws. */

/**
 * `reach`: at how many tokens a row looks at once (the exponential of its entropy, averaged over the rows).
 * In self-attention also the shares of weight on `same`, `previous` and `next` token; `end` is the share on the last column.
 */
export function headHabits(weights, rows, columns, isSelf) {
  let reach = 0;
  const shares = { same: 0, previous: 0, next: 0, end: 0 };
  for (let row = 0; row < rows; row++) {
    const at = (column) => (column >= 0 && column < columns ? weights[row * columns + column] : 0);
    reach += Math.exp(entropyOfRow(weights, row * columns, columns)) / rows;
    shares.end += at(columns - 1) / rows;
    if (!isSelf) continue;
    shares.same += at(row) / rows;
    shares.previous += at(row - 1) / rows;
    shares.next += at(row + 1) / rows;
  }
  return isSelf ? { reach, ...shares } : { reach, end: shares.end };
}

function entropyOfRow(weights, start, columns) {
  let entropy = 0;
  for (let index = start; index < start + columns; index++) if (weights[index] > 0) entropy -= weights[index] * Math.log(weights[index]);
  return entropy;
}

const SAMPLED = 20_000;

/** A weight that only a small share of a map's weights exceeds; in a large map, of an even sample of them. */
export function highWeight(weights, share = 0.004) {
  const step = Math.max(1, Math.floor(weights.length / SAMPLED));
  const sample = Float32Array.from({ length: Math.ceil(weights.length / step) }, (_, index) => weights[index * step]).sort();
  return sample.length ? sample[Math.max(0, Math.ceil(sample.length * (1 - share)) - 1)] : 0;
}
