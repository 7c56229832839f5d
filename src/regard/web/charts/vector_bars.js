// @ts-check
/** A vector as bars: up is positive, down is negative. Drawn in units of its own, so that it can be made narrow. */

import { h } from "../core/ui.js";
import { palette, series } from "./colour.js";

const HEIGHT = 44;
const [BAR, GAP] = [7, 2];
const STEP = BAR + GAP;

/** @param {number} count */
export function stripSize(count) {
  const width = count * STEP + GAP;
  return { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}` };
}

/**
 * @param {number[]} values
 * @param {number | null} chosen the number with a frame
 * @param {boolean} dark
 */
export function vectorBars(values, chosen, dark) {
  const most = Math.max(1e-9, ...values.map(Math.abs));
  const middle = HEIGHT / 2;
  const [positive, negative] = [series(0, dark).colour, series(1, dark).colour];
  // One path for all bars of a sign: the inner layer of a wide model has thousands, and an element for each takes seconds.
  const outline = (/** @type {boolean} */ isUp) =>
    values
      .map((value, index) => {
        if (value >= 0 !== isUp) return "";
        const height = Math.max(1, (Math.abs(value) / most) * (middle - 3));
        return `M${GAP + index * STEP} ${middle}v${(isUp ? -height : height).toFixed(2)}h${BAR}V${middle}z`;
      })
      .join("");
  const frame = { y: 0.75, width: STEP + 0.5, height: HEIGHT - 1.5, rx: 3, fill: "none", "stroke-width": 1.5 };
  return [
    h("line", { key: "zero", x1: 0, x2: "100%", y1: middle, y2: middle, stroke: palette(dark).line }),
    h("path", { key: "up", d: outline(true), fill: positive }),
    h("path", { key: "down", d: outline(false), fill: negative }),
    chosen !== null &&
      h("rect", {
        key: "chosen",
        x: chosen * STEP + 0.75,
        ...frame,
        stroke: palette(dark).cursor,
        "vector-effect": "non-scaling-stroke",
      }),
  ];
}

/**
 * Which number an arrow key leads to; undefined where the key has no meaning.
 * @param {number} chosen
 * @param {number} count
 * @param {string} key
 */
export function dimensionByKey(chosen, count, key) {
  /** @type {Record<string, number>} */
  const targets = {
    ArrowLeft: chosen - 1,
    ArrowDown: chosen - 1,
    ArrowRight: chosen + 1,
    ArrowUp: chosen + 1,
    PageDown: chosen - 10,
    PageUp: chosen + 10,
    Home: 0,
    End: count - 1,
  };
  const target = targets[key];
  return target === undefined ? undefined : Math.max(0, Math.min(count - 1, target));
}
