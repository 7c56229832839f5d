/** Which regions of an image each word of a caption attends to. */

/** @typedef {{ weight: number, row: number, column: number }} Peak the region with the largest weight */
/** @typedef {{ text: string, tokens: number[], map: Float32Array, peak: Peak }} WordMap */
/** @typedef {[left: number, top: number, right: number, bottom: number]} Box in shares of the image's sides */
/** @typedef {{ rows: number, columns: number }} Regions the grid that an image encoder divides an image into */

/**
 * The map of each word of a caption, without <s>. The row of a token is the one that predicts it, hence one earlier;
 * a word of several tokens has the mean of their maps.
 * @param {{ word_pieces: number[][], words: string[] }} caption
 * @param {Regions} regions
 * @param {ArrayLike<number>} weights tokens by regions
 * @returns {WordMap[]}
 */
export function wordMaps({ word_pieces, words }, { rows, columns }, weights) {
  const size = rows * columns;
  return word_pieces.slice(1).map((tokens, index) => {
    const map = new Float32Array(size);
    for (const token of tokens) {
      for (let region = 0; region < size; region += 1)
        map[region] += weights[(token - 1) * size + region] / tokens.length;
    }
    return { text: words[index + 1], tokens, map, peak: peakOf(map, columns) };
  });
}

/**
 * A word of a caption that is still being generated.
 * @param {{ text: string, weights: number[] }} word
 * @param {Regions} regions
 * @returns {WordMap}
 */
export function partialWord({ text, weights }, { columns }) {
  return { text, tokens: [], map: Float32Array.from(weights), peak: peakOf(weights, columns) };
}

/**
 * @param {ArrayLike<number>} map
 * @param {number} columns
 * @returns {Peak}
 */
function peakOf(map, columns) {
  let best = 0;
  for (let region = 1; region < map.length; region += 1) if (map[region] > map[best]) best = region;
  return { weight: map[best], row: Math.floor(best / columns), column: best % columns };
}

/**
 * The pointing game, as regard.metrics computes it: the peak's centre lies in a box, or the peak's region holds the box's centre.
 * @param {Pick<Peak, "row" | "column">} peak
 * @param {Regions} regions
 * @param {Box[]} boxes
 */
export function hitsBox({ row, column }, { rows, columns }, boxes) {
  const [x, y] = [(column + 0.5) / columns, (row + 0.5) / rows];
  const cellOf = (/** @type {number} */ share, /** @type {number} */ cells) =>
    Math.min(Math.max(Math.floor(share * cells), 0), cells - 1);
  return boxes.some(([left, top, right, bottom]) => {
    const holdsPeak = left <= x && x <= right && top <= y && y <= bottom;
    return holdsPeak || (row === cellOf((top + bottom) / 2, rows) && column === cellOf((left + right) / 2, columns));
  });
}

/**
 * A map enlarged by a whole factor, bilinear between the centres of its cells; beyond the outermost centres it is constant.
 * @param {ArrayLike<number>} map
 * @param {Regions} regions
 * @param {number} factor
 */
export function smoothMap(map, { rows, columns }, factor) {
  const [height, width] = [rows * factor, columns * factor];
  const smooth = new Float32Array(height * width);
  for (let y = 0; y < height; y += 1) {
    const row = cellsAround((y + 0.5) / factor - 0.5, rows);
    for (let x = 0; x < width; x += 1) {
      const column = cellsAround((x + 0.5) / factor - 0.5, columns);
      const along = (/** @type {number} */ line) =>
        map[line * columns + column.low] * (1 - column.share) + map[line * columns + column.high] * column.share;
      smooth[y * width + x] = along(row.low) * (1 - row.share) + along(row.high) * row.share;
    }
  }
  return { values: smooth, width, height };
}

/**
 * The two cells around a position, and how far it is from the first to the second.
 * @param {number} position
 * @param {number} count
 */
function cellsAround(position, count) {
  const within = Math.min(Math.max(position, 0), count - 1);
  const low = Math.floor(within);
  return { low, high: Math.min(low + 1, count - 1), share: within - low };
}
