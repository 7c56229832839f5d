// @ts-check
/** Attention as lines between two columns of tokens, queries left and keys right, as in BertViz; one token can be chosen. */

import { h } from "../core/ui.js";
import { FAINTEST } from "../math/alignment.js";
import { palette, series } from "./colour.js";
import { cut, FONT, textWidth } from "./text_width.js";

/** @import { Chart } from "./chart.js" */
/** @typedef {"query" | "key"} TokenSide */
/** @typedef {[side: TokenSide, index: number]} LinkedToken */

/**
 * @typedef {object} TokenLinksData
 * @property {ArrayLike<number>} weights row by row
 * @property {string[]} rows queries
 * @property {string[]} columns keys
 * @property {string} title
 * @property {LinkedToken | null} active the token whose lines are drawn strongly
 */

const ROW_HEIGHT = 22; // pixels
const FONT_SIZE = 13;
const LONGEST_LABEL = 16; // letters
const WIDEST = 460; // pixels
const MOST_NAMED = 4; // tokens that are read out

/**
 * @param {TokenLinksData} data
 * @param {{ width: number }} size
 * @returns {Chart<LinkedToken>}
 */
export function tokenLinks({ weights, rows, columns, title, active }, { width: room }) {
  const labelRoom = (/** @type {string[]} */ labels) =>
    12 + Math.max(8, ...labels.map((label) => textWidth(cut(label, LONGEST_LABEL), FONT_SIZE)));
  const [left, right] = [labelRoom(rows), labelRoom(columns)];
  const width = Math.max(left + right + 60, Math.min(WIDEST, room));
  const height = ROW_HEIGHT * Math.max(rows.length, columns.length) + 8;
  const y = (/** @type {number} */ index) => 4 + (index + 0.5) * ROW_HEIGHT;
  const weightAt = (/** @type {number} */ row, /** @type {number} */ column) => weights[row * columns.length + column];
  const isActive = (/** @type {number} */ row, /** @type {number} */ column) =>
    active === null || active[1] === (active[0] === "query" ? row : column);

  const line = (/** @type {number} */ row, /** @type {number} */ column, /** @type {boolean} */ dark) => {
    const weight = weightAt(row, column);
    const [from, to, middle] = [left, width - right, width / 2];
    return h("path", {
      d: `M${from} ${y(row)}C${middle} ${y(row)} ${middle} ${y(column)} ${to} ${y(column)}`,
      fill: "none",
      stroke: series(0, dark).colour,
      "stroke-width": 1 + 4 * weight,
      "stroke-opacity": (active === null ? 0.15 : 0.3) + 0.65 * weight,
    });
  };
  const lines = (/** @type {boolean} */ dark) =>
    rows.flatMap((_, row) =>
      columns.flatMap((__, column) =>
        weightAt(row, column) > FAINTEST && isActive(row, column) ? [line(row, column, dark)] : [],
      ),
    );
  const label =
    (/** @type {TokenSide} */ side, /** @type {boolean} */ dark) =>
    (/** @type {string} */ text, /** @type {number} */ index) =>
      h(
        "text",
        {
          x: side === "query" ? left - 6 : width - right + 6,
          y: y(index),
          "text-anchor": side === "query" ? "end" : "start",
          "dominant-baseline": "central",
          "font-family": FONT,
          "font-size": FONT_SIZE,
          "font-weight": active?.[0] === side && active[1] === index ? 700 : 400,
          fill: palette(dark).ink,
        },
        cut(text, LONGEST_LABEL),
      );
  const names = { query: rows, key: columns };
  /** @type {(token: LinkedToken) => string} */
  const describe = ([side, index]) => {
    const others = side === "query" ? columns : rows;
    const found = others
      .map((name, other) => ({ name, weight: side === "query" ? weightAt(index, other) : weightAt(other, index) }))
      .sort((first, second) => second.weight - first.weight)
      .slice(0, MOST_NAMED)
      .map(({ name, weight }) => `${name} ${weight.toFixed(2)}`);
    return `${names[side][index]} ${side === "query" ? "→" : "←"} ${found.join(", ")}`;
  };
  return {
    kind: "map",
    title,
    width,
    height,
    draw: (dark) => [lines(dark), rows.map(label("query", dark)), columns.map(label("key", dark))],
    hit: (px, py) => {
      const side = px < width / 2 ? "query" : "key";
      const index = Math.floor((py - 4) / ROW_HEIGHT);
      return names[side][index] === undefined ? null : [side, index];
    },
    holds: ([side, index]) => names[side][index] !== undefined,
    step: (token, key) => tokenByKey(names, token, key),
    cursor: ([side, index], dark) =>
      h("rect", {
        x: side === "query" ? 1 : width - right + 1,
        y: y(index) - ROW_HEIGHT / 2,
        width: (side === "query" ? left : right) - 2,
        height: ROW_HEIGHT,
        rx: 5,
        fill: "none",
        stroke: palette(dark).cursor,
        "stroke-width": 1.5,
      }),
    describe,
  };
}

/**
 * Up and down go along a column, left and right to the other one.
 * @param {Record<TokenSide, string[]>} names
 * @param {LinkedToken | null} token
 * @param {string} key
 * @returns {LinkedToken | undefined}
 */
function tokenByKey(names, token, key) {
  const [side, index] = token ?? /** @type {LinkedToken} */ (["query", 0]);
  const last = names[side].length - 1;
  const moves = /** @type {Record<string, LinkedToken>} */ ({
    ArrowUp: [side, Math.max(0, index - 1)],
    ArrowDown: [side, Math.min(last, index + 1)],
    ArrowLeft: ["query", Math.min(index, names.query.length - 1)],
    ArrowRight: ["key", Math.min(index, names.key.length - 1)],
    Home: [side, 0],
    End: [side, last],
  });
  return Object.hasOwn(moves, key) ? moves[key] : undefined;
}
