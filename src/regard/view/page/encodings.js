/**
 * Ways to tell a model where a token stands, and the four wishes that such a way should grant, measured.
 *
 * An encoding is {length, width, values}: one row of `values` (float64) for each position. Nothing here draws.
 */

/** sin and cos of t / 10000^(2i / W), alternating: the encoding of Vaswani et al., 2017. */
export function sinusoidalEncoding(length, width) {
  const values = new Float64Array(length * width);
  for (let i = 0; i < width; i++) {
    const divisor = 10000 ** ((i - (i % 2)) / width);
    const wave = i % 2 ? Math.cos : Math.sin;
    for (let t = 0; t < length; t++) values[t * width + i] = wave(t / divisor);
  }
  return { length, width, values };
}

/** The position itself in every dimension: 0, 1, 2, ... */
export function countEncoding(length, width) {
  return filledEncoding(length, width, (t) => t);
}

/** How much of the sentence has passed: 0 at its beginning, 1 at its end. */
export function fractionEncoding(length, width) {
  return filledEncoding(length, width, (t) => (length > 1 ? t / (length - 1) : 0));
}

/** Random numbers, other ones each time. */
export function randomEncoding(length, width) {
  return filledEncoding(length, width, () => Math.random() * 2 - 1);
}

/** An encoding from rows of numbers, as the server sends a model's own. */
export function encodingFromRows(rows) {
  const width = rows.length ? rows[0].length : 0;
  return { length: rows.length, width, values: Float64Array.from(rows.flat()) };
}

function filledEncoding(length, width, valueAt) {
  const values = new Float64Array(length * width);
  for (let t = 0; t < length; t++) for (let i = 0; i < width; i++) values[t * width + i] = valueAt(t, i);
  return { length, width, values };
}

/** How far apart two positions are. */
export function encodingDistance(encoding, one, other) {
  const { width, values } = encoding;
  let sum = 0;
  for (let i = 0, a = one * width, b = other * width; i < width; i++) {
    const difference = values[a + i] - values[b + i];
    sum += difference * difference;
  }
  return Math.sqrt(sum);
}

/** The distance between every two positions, row by row. */
export function distanceTable(encoding) {
  const { length } = encoding;
  const table = new Float64Array(length * length);
  for (let one = 0; one < length; one++) {
    for (let other = 0; other < one; other++) {
      table[one * length + other] = table[other * length + one] = encodingDistance(encoding, one, other);
    }
  }
  return table;
}

/** For each offset from 0: the smallest, the mean and the largest distance between positions so far apart. */
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

/**
 * The four wishes of an encoding, measured: `make(length)` gives it for a length, or null where it cannot be that long.
 * `made` and `table` are make(length) and its distances, which the caller has drawn already.
 */
export function measureWishes(make, made, table, trained = null) {
  const { length } = made;
  return {
    unique: uniqueWish(table, length),
    constant: constantWish(make, made, table),
    bounded: boundedWish(make, made, trained),
    deterministic: deterministicWish(make(length), made),
  };
}

/** One of its own for each position: the smallest distance between any two. */
export function uniqueWish(table, length) {
  let smallest = Infinity;
  for (let one = 0; one < length; one++) {
    for (let other = 0; other < one; other++) smallest = Math.min(smallest, table[one * length + other]);
  }
  return { granted: smallest > 1e-9, smallest };
}

/** The same distance for the same offset, at every position, in this sentence and in one twice as long. */
export function constantWish(make, made, table) {
  const { length } = made;
  const double = make(length * 2);
  let spread = 0;
  let largest = 0;
  for (const { offset, low, high } of distancesByOffset(table, length)) {
    const [least, most] = offset && offset <= CHECKED_OFFSETS && double ? reachIn(double, offset, [low, high]) : [low, high];
    spread = Math.max(spread, most - least);
    largest = Math.max(largest, most);
  }
  return { granted: spread <= largest * ROUNDING, spread, share: largest ? spread / largest : 0 };
}

function reachIn(encoding, offset, [low, high]) {
  for (let t = 0; t + offset < encoding.length; t++) {
    const distance = encodingDistance(encoding, t, t + offset);
    low = Math.min(low, distance);
    high = Math.max(high, distance);
  }
  return [low, high];
}

/**
 * Longer sentences within the same bounds: the largest number in this one, and in one ten times as long. Rows of a learned table that
 * training never reached have small numbers too, but they are chance: beyond `trained` positions the wish is not granted.
 */
export function boundedWish(make, made, trained = null) {
  const length = made.length * LONGER;
  const now = largestSize(made.values);
  if (trained !== null && length > trained) return { granted: false, now, then: null, length, trained };
  const longer = make(length);
  if (!longer) return { granted: false, now, then: null, length };
  const then = largestSize(longer.values);
  return { granted: then <= Math.max(now, 1) * 1.01, now, then, length };
}

function largestSize(values) {
  let largest = 0;
  for (const value of values) largest = Math.max(largest, Math.abs(value));
  return largest;
}

/** Always the same: made twice, how many numbers differ. */
export function deterministicWish(again, made) {
  let differing = 0;
  for (let i = 0; i < made.values.length; i++) if (again.values[i] !== made.values[i]) differing += 1;
  return { granted: differing === 0, differing, numbers: made.values.length };
}

/** A pair of numbers at a position, turned by the angle of rotary positions: the score of two depends on their offset. */
export function turned([first, second], angle) {
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  return [first * cosine - second * sine, first * sine + second * cosine];
}
