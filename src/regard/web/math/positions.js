// @ts-check
/**
 * Position encodings, and four criteria that a good one meets, measured.
 *
 * An encoding has one row of `values` (float64) for each position.
 */

/** @typedef {{ length: number, width: number, values: Float64Array }} Encoding */
/** @typedef {(length: number) => Encoding | null} MakeEncoding null where the encoding cannot be that long */

/**
 * sin and cos of t / 10000^(2i / W), alternating: the encoding of Vaswani et al., 2017.
 * @param {number} length
 * @param {number} width
 * @returns {Encoding}
 */
export function sinusoidalEncoding(length, width) {
  const values = new Float64Array(length * width);
  for (let i = 0; i < width; i++) {
    const divisor = 10000 ** ((i - (i % 2)) / width);
    const wave = i % 2 ? Math.cos : Math.sin;
    for (let t = 0; t < length; t++) values[t * width + i] = wave(t / divisor);
  }
  return { length, width, values };
}

/**
 * The position itself in every dimension: 0, 1, 2, ...
 * @param {number} length
 * @param {number} width
 */
export function countEncoding(length, width) {
  return filledEncoding(length, width, (t) => t);
}

/**
 * The position as a fraction of the sentence: 0 at its beginning, 1 at its end.
 * @param {number} length
 * @param {number} width
 */
export function fractionEncoding(length, width) {
  return filledEncoding(length, width, (t) => (length > 1 ? t / (length - 1) : 0));
}

/**
 * Random numbers, different ones each time.
 * @param {number} length
 * @param {number} width
 */
export function randomEncoding(length, width) {
  return filledEncoding(length, width, () => Math.random() * 2 - 1);
}

/**
 * An encoding from rows of numbers, as the server sends a model's own.
 * @param {number[][]} rows
 * @returns {Encoding}
 */
export function encodingFromRows(rows) {
  const width = rows.length ? rows[0].length : 0;
  return { length: rows.length, width, values: Float64Array.from(rows.flat()) };
}

/**
 * @param {number} length
 * @param {number} width
 * @param {(position: number) => number} valueAt
 * @returns {Encoding}
 */
function filledEncoding(length, width, valueAt) {
  const values = new Float64Array(length * width);
  for (let t = 0; t < length; t++) for (let i = 0; i < width; i++) values[t * width + i] = valueAt(t);
  return { length, width, values };
}

/**
 * The Euclidean distance between the encodings of two positions.
 * @param {Encoding} encoding
 * @param {number} first
 * @param {number} second
 */
function encodingDistance({ width, values }, first, second) {
  let sum = 0;
  for (let i = 0, a = first * width, b = second * width; i < width; i++) {
    const difference = values[a + i] - values[b + i];
    sum += difference * difference;
  }
  return Math.sqrt(sum);
}

/**
 * The distance between every two positions, row by row.
 * @param {Encoding} encoding
 */
export function distanceTable(encoding) {
  const { length } = encoding;
  const table = new Float64Array(length * length);
  for (let row = 0; row < length; row++) {
    for (let column = 0; column < row; column++) {
      const distance = encodingDistance(encoding, row, column);
      table[row * length + column] = distance;
      table[column * length + row] = distance;
    }
  }
  return table;
}

/**
 * For each offset from 0: the smallest, the mean and the largest distance between positions so far apart.
 * @param {Float64Array} table
 * @param {number} length
 */
export function distancesByOffset(table, length) {
  return Array.from({ length }, (_, offset) => {
    let low = Infinity;
    let high = -Infinity;
    let sum = 0;
    for (let t = 0; t + offset < length; t++) {
      const distance = table[t * length + t + offset];
      low = Math.min(low, distance);
      high = Math.max(high, distance);
      sum += distance;
    }
    return { offset, low, high, mean: sum / (length - offset) };
  });
}

const CHECKED_OFFSETS = 24;
const LONGER = 10;
const ROUNDING = 1e-5; // of the largest distance: what float32 arithmetic leaves

/** @typedef {ReturnType<typeof measureCriteria>} Criteria */

/**
 * The four criteria, measured. `encoding` and `table` are make(length) and its distances, which the caller has already.
 * @param {MakeEncoding} make
 * @param {Encoding} encoding
 * @param {Float64Array} table
 * @param {number | null} trained how many positions training can have reached
 */
export function measureCriteria(make, encoding, table, trained = null) {
  return {
    unique: uniqueCriterion(table, encoding.length),
    constant: constantCriterion(make, encoding, table),
    bounded: boundedCriterion(make, encoding, trained),
    deterministic: deterministicCriterion(make(encoding.length), encoding),
  };
}

/**
 * A different vector for each position: the smallest distance between any two.
 * @param {Float64Array} table
 * @param {number} length
 */
function uniqueCriterion(table, length) {
  let smallest = Infinity;
  for (let row = 0; row < length; row++) {
    for (let column = 0; column < row; column++) smallest = Math.min(smallest, table[row * length + column]);
  }
  return { isMet: smallest > 1e-9, smallest };
}

/**
 * The same distance for the same offset, at every position, in this sentence and in one twice as long.
 * @param {MakeEncoding} make
 * @param {Encoding} encoding
 * @param {Float64Array} table
 */
function constantCriterion(make, encoding, table) {
  const { length } = encoding;
  const double = make(length * 2);
  let spread = 0;
  let largest = 0;
  for (const { offset, low, high } of distancesByOffset(table, length)) {
    const isChecked = offset > 0 && offset <= CHECKED_OFFSETS;
    const [least, most] = isChecked && double ? widenedRange(double, offset, [low, high]) : [low, high];
    spread = Math.max(spread, most - least);
    largest = Math.max(largest, most);
  }
  return { isMet: spread <= largest * ROUNDING, spread, share: largest ? spread / largest : 0 };
}

/**
 * @param {Encoding} encoding
 * @param {number} offset
 * @param {[number, number]} range
 */
function widenedRange(encoding, offset, [low, high]) {
  let [least, most] = [low, high];
  for (let t = 0; t + offset < encoding.length; t++) {
    const distance = encodingDistance(encoding, t, t + offset);
    least = Math.min(least, distance);
    most = Math.max(most, distance);
  }
  return [least, most];
}

/** @typedef {{ isMet: boolean, largest: number, largestLonger: number | null, length: number, trained?: number }} Bounded */

/**
 * Longer sentences within the same bounds: the largest number in this one, and in one ten times as long. Rows of a
 * learned table that training never reached have small numbers too, by chance: beyond `trained` it is not met.
 * @param {MakeEncoding} make
 * @param {Encoding} encoding
 * @param {number | null} trained
 * @returns {Bounded}
 */
function boundedCriterion(make, encoding, trained = null) {
  const length = encoding.length * LONGER;
  const largest = largestSize(encoding.values);
  const failed = { isMet: false, largest, largestLonger: null, length };
  if (trained !== null && length > trained) return { ...failed, trained };
  const longer = make(length);
  if (!longer) return failed;
  const largestLonger = largestSize(longer.values);
  return { isMet: largestLonger <= Math.max(largest, 1) * 1.01, largest, largestLonger, length };
}

/** @param {Float64Array} values */
function largestSize(values) {
  let largest = 0;
  for (const value of values) largest = Math.max(largest, Math.abs(value));
  return largest;
}

/**
 * Always the same: made twice, how many numbers differ.
 * @param {Encoding | null} again
 * @param {Encoding} encoding
 */
function deterministicCriterion(again, encoding) {
  const { values } = encoding;
  let differing = again ? 0 : values.length;
  for (let i = 0; again && i < values.length; i++) if (again.values[i] !== values[i]) differing += 1;
  return { isMet: differing === 0, differing, numbers: values.length };
}

/**
 * A pair of numbers rotated by an angle: with rotary positions the product of two such pairs depends on their offset.
 * @param {[number, number]} pair
 * @param {number} angle
 * @returns {[number, number]}
 */
export function rotated([first, second], angle) {
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  return [first * cosine - second * sine, first * sine + second * cosine];
}
