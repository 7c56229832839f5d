/** Scales of a chart: from values to positions, and round numbers along an axis. */

/** @typedef {[x: number, y: number]} Point */

/**
 * Round numbers, at most so many; the first at or below `low`, the last at or above `high`.
 * @param {number} low
 * @param {number} high
 * @param {number} [most]
 */
export function roundTicks(low, high, most = 6) {
  const top = high > low ? high : low + 1;
  const power = 10 ** Math.floor(Math.log10((top - low) / most));
  for (const factor of [1, 2, 5, 10, 20, 50, 100]) {
    const step = power * factor;
    const first = Math.floor(low / step + 1e-9);
    const last = Math.ceil(top / step - 1e-9);
    if (last - first + 1 <= most) {
      return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
    }
  }
  return [low, top];
}

/**
 * A function from values to positions: `low` is at `start`, `high` at `end`.
 * @param {number} low
 * @param {number} high
 * @param {number} start
 * @param {number} end
 * @returns {(value: number) => number}
 */
export function linearScale(low, high, start, end) {
  const span = high - low || 1;
  return (value) => start + ((value - low) / span) * (end - start);
}

/**
 * The smallest and largest of finite numbers; null where there are none.
 * @param {Iterable<number>} numbers
 * @returns {[low: number, high: number] | null}
 */
export function rangeOf(numbers) {
  let low = Infinity;
  let high = -Infinity;
  for (const number of numbers) {
    if (!Number.isFinite(number)) continue;
    if (number < low) low = number;
    if (number > high) high = number;
  }
  return low <= high ? [low, high] : null;
}

/**
 * Points of a long curve, at most so many: of each stretch the lowest and the highest, so that no peak is lost.
 * @param {Point[]} points
 * @param {number} [most]
 * @returns {Point[]}
 */
export function thinnedPoints(points, most = 600) {
  if (points.length <= most) return points;
  const stretch = Math.ceil(points.length / (most / 2));
  const kept = [];
  for (let start = 0; start < points.length; start += stretch) {
    kept.push(...lowestAndHighest(points.slice(start, start + stretch)));
  }
  return kept;
}

/** @param {Point[]} points */
function lowestAndHighest(points) {
  let low = points[0];
  let high = points[0];
  for (const point of points) {
    if (point[1] < low[1]) low = point;
    if (point[1] > high[1]) high = point;
  }
  if (low === high) return [low];
  return low[0] < high[0] ? [low, high] : [high, low];
}

/**
 * The index of the number nearest to a value, in an ascending list.
 * @param {ArrayLike<number>} ascending
 * @param {number} value
 */
export function nearestIndex(ascending, value) {
  let low = 0;
  let high = ascending.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (ascending[middle] <= value) low = middle;
    else high = middle;
  }
  return Math.abs(ascending[high] - value) < Math.abs(ascending[low] - value) ? high : low;
}

/**
 * A number as a person reads it: few digits, thousands apart, very small ones with a power of ten.
 * @param {number} value
 * @param {number} [digits]
 */
export function readableNumber(value, digits = 3) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e9) {
    return value.toExponential(1).replace("e+", "e").replace("-", "−").replace("e-", "e−");
  }
  const decimals = size >= 1000 ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return value.toLocaleString("en", { maximumFractionDigits: decimals }).replace("-", "−");
}
