// @ts-check
/** The weights of one query as bars, one for each key; a second bar shows them after something was switched off. */

import { h } from "../core/ui.js";
import { palette, series } from "./colour.js";
import { FONT, fitted, textWidth } from "./text_width.js";

/** @import { Chart } from "./chart.js" */

/**
 * @typedef {object} QueryWeights
 * @property {string} title
 * @property {string[]} keys labels
 * @property {number[]} weights
 * @property {number[] | null} changed the weights after the change
 * @property {[string, string]} names of the two kinds
 */

const LABEL_SIZE = 14;
const [BAR, PAIRED_BAR, GAP] = [15, 11, 11];
const NUMBER_WIDTH = 62;
const WIDEST_LABEL = 150;
const LEGEND_HEIGHT = 24;
const TEXT = { "dominant-baseline": "central", "font-family": FONT };

/**
 * @param {QueryWeights} data
 * @param {{ width: number }} size
 * @returns {Chart<number>}
 */
export function queryWeights({ title, keys, weights, changed, names }, { width }) {
  const longest = Math.max(...keys.map((key) => textWidth(key, LABEL_SIZE)));
  const left = Math.min(WIDEST_LABEL, width / 3, 12 + longest);
  const room = width - left - NUMBER_WIDTH;
  const top = changed ? 6 + LEGEND_HEIGHT : 6;
  const barsHeight = changed ? 2 * PAIRED_BAR + 2 : BAR;
  const rowHeight = barsHeight + GAP;
  const height = top + rowHeight * keys.length;

  const bar = (
    /** @type {number} */ value,
    /** @type {number} */ y,
    /** @type {number} */ kind,
    /** @type {boolean} */ dark,
  ) => {
    const thickness = changed ? PAIRED_BAR : BAR;
    const middle = y + thickness / 2;
    return [
      h("rect", { x: left, y, width: Math.max(1, room * value), height: thickness, rx: 3, ...barStyle(kind, dark) }),
      h(
        "text",
        { x: left + room * value + 7, y: middle, fill: palette(dark).faint, "font-size": 12, ...TEXT },
        value.toFixed(4),
      ),
    ];
  };
  const legend = (/** @type {boolean} */ dark) =>
    names.map((name, kind) => {
      const x = left + kind * (room / 2);
      return [
        h("rect", { x, y: 6, width: 12, height: 12, rx: 2, ...barStyle(kind, dark) }),
        h("text", { x: x + 18, y: 12, fill: palette(dark).ink, "font-size": 13, ...TEXT }, name),
      ];
    });
  const row = (/** @type {string} */ key, /** @type {number} */ index, /** @type {boolean} */ dark) => {
    const y = top + index * rowHeight;
    const label = {
      x: left - 8,
      y: y + barsHeight / 2,
      "text-anchor": "end",
      fill: palette(dark).ink,
      "font-size": LABEL_SIZE,
    };
    return h(
      "g",
      { key: index },
      h("text", { ...label, ...TEXT }, fitted(key, left - 10, LABEL_SIZE)),
      bar(weights[index], y, 0, dark),
      changed && bar(changed[index], y + PAIRED_BAR + 2, 1, dark),
    );
  };

  return {
    title,
    width,
    height,
    draw: (dark) =>
      h(
        "g",
        { class: "weight-bars" },
        changed && legend(dark),
        keys.map((key, index) => row(key, index, dark)),
      ),
    hit: (_x, y) => {
      const index = Math.floor((y - top) / rowHeight);
      return index >= 0 && index < keys.length ? index : null;
    },
    step: (cell, key) => rowByKey(cell, key, keys.length),
    cursor: (cell, dark) =>
      h("rect", {
        x: 1,
        y: top + cell * rowHeight - GAP / 2 + 1,
        width: width - 2,
        height: rowHeight - 2,
        rx: 4,
        fill: "none",
        stroke: palette(dark).cursor,
        "stroke-width": 1.5,
      }),
    describe: (cell) => {
      const value = `${keys[cell]}: ${weights[cell].toFixed(4)}`;
      return changed ? `${value} (${names[0]}), ${changed[cell].toFixed(4)} (${names[1]})` : value;
    },
    table: () => ({
      header: ["", ...(changed ? names : [title])],
      rows: keys.map((key, index) => [key, weights[index], ...(changed ? [changed[index]] : [])]),
    }),
  };
}

/**
 * The second kind of bar is outlined and pale, so that the two differ without colour.
 * @param {number} kind
 * @param {boolean} dark
 */
function barStyle(kind, dark) {
  const { colour } = series(kind, dark);
  return kind === 0 ? { fill: colour } : { fill: colour, "fill-opacity": 0.35, stroke: colour, "stroke-width": 1.5 };
}

/**
 * @param {number | null} row
 * @param {string} key
 * @param {number} count
 */
function rowByKey(row, key, count) {
  /** @type {Record<string, number>} */
  const targets = { ArrowUp: (row ?? 0) - 1, ArrowDown: (row ?? -1) + 1, Home: 0, End: count - 1 };
  return key in targets ? Math.max(0, Math.min(count - 1, targets[key])) : undefined;
}
