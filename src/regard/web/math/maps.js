/** Large maps made small, maps of tokens made maps of words, and maps between two others. */

/**
 * A map of at most `most` rows and columns. A cell keeps the largest weight of those that it stands for: a mean would wash
 * out the thin lines of attention.
 * @param {Float32Array} weights
 * @param {number} rows
 * @param {number} columns
 * @param {number} most
 */
export function shrunkMap(weights, rows, columns, most) {
  const rowStep = Math.max(1, Math.ceil(rows / most));
  const columnStep = Math.max(1, Math.ceil(columns / most));
  if (rowStep === 1 && columnStep === 1) return { weights, rows, columns };
  const small = { rows: Math.ceil(rows / rowStep), columns: Math.ceil(columns / columnStep) };
  const largest = new Float32Array(small.rows * small.columns);
  for (let row = 0; row < rows; row += 1) {
    const base = Math.floor(row / rowStep) * small.columns;
    for (let column = 0; column < columns; column += 1) {
      const cell = base + Math.floor(column / columnStep);
      const weight = weights[row * columns + column];
      if (weight > largest[cell]) largest[cell] = weight;
    }
  }
  return { weights: largest, ...small };
}

/**
 * A map of words from one of tokens: weights are added over the tokens of a key word and averaged over those of a query
 * word, so each row still sums to one.
 * @param {ArrayLike<number>} weights
 * @param {number} columns
 * @param {number[][]} rowWords the tokens of each query word
 * @param {number[][]} columnWords the tokens of each key word
 */
export function wordMap(weights, columns, rowWords, columnWords) {
  const merged = new Float32Array(rowWords.length * columnWords.length);
  rowWords.forEach((rowTokens, row) => {
    columnWords.forEach((columnTokens, column) => {
      let sum = 0;
      for (const query of rowTokens) for (const key of columnTokens) sum += weights[query * columns + key];
      merged[row * columnWords.length + column] = rowTokens.length ? sum / rowTokens.length : 0;
    });
  });
  return merged;
}

/**
 * Between two maps of one shape: `share` 0 is the first, 1 the second.
 * @param {Float32Array} from
 * @param {Float32Array} to
 * @param {number} share
 */
export function betweenMaps(from, to, share) {
  if (from.length !== to.length || share >= 1) return to;
  return from.map((weight, index) => weight + (to[index] - weight) * share);
}
