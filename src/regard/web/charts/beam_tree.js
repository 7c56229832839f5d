// @ts-check
/** A beam search as a tree from left to right: every prefix that was once in the beam, and the path to the best output. */

import { t } from "../core/i18n.js";
import { h } from "../core/ui.js";
import { joinTokens, tokenLabel } from "../math/tokens.js";
import { palette, series } from "./colour.js";
import { cut, FONT, textWidth } from "./text_width.js";

/** @import { Chart } from "./chart.js" */
/**
 * @typedef {object} TreeNode
 * @property {string} piece
 * @property {number | null} parent its index, smaller than the node's own; null: the start
 * @property {number} log_probability of all tokens up to here
 * @property {"continued" | "pruned" | "finished"} state
 * @property {number | null} score of a finished output
 * @property {boolean} is_best on the path to the best output
 */

const ROW_HEIGHT = 26; // pixels
const FONT_SIZE = 13;
const GAP = 30; // pixels between two columns
const LONGEST_LABEL = 12; // letters
const STATES = /** @type {const} */ ({ continued: "", pruned: "beam.pruned", finished: "beam.finished" });

/**
 * The depth of each node, and its row: a node is on the row of its most probable child, so that paths stay straight.
 * @param {TreeNode[]} nodes
 */
export function treeLayout(nodes) {
  /** @type {number[][]} */
  const children = nodes.map(() => []);
  const roots = /** @type {number[]} */ ([]);
  for (const [index, { parent }] of nodes.entries()) (parent === null ? roots : children[parent]).push(index);
  const isFirst = (/** @type {number} */ a, /** @type {number} */ b) =>
    Number(nodes[b].is_best) - Number(nodes[a].is_best) || nodes[b].log_probability - nodes[a].log_probability;
  const [depths, rows] = [nodes.map(() => 0), nodes.map(() => 0)];
  let row = -1;
  const visit = (/** @type {number} */ index, /** @type {number} */ depth, /** @type {boolean} */ startsRow) => {
    if (startsRow) row += 1;
    [depths[index], rows[index]] = [depth, row];
    for (const [rank, child] of children[index].sort(isFirst).entries()) visit(child, depth + 1, rank > 0);
  };
  for (const root of roots.sort(isFirst)) visit(root, 0, true);
  return { depths, rows, children, rowCount: row + 1 };
}

/**
 * @param {{ nodes: TreeNode[], title: string }} data
 * @returns {Chart<number>}
 */
export function beamTree({ nodes, title }) {
  const { depths, rows, children, rowCount } = treeLayout(nodes);
  const labels = nodes.map(({ piece }) => cut(tokenLabel(piece), LONGEST_LABEL));
  const columns = Math.max(...depths) + 1;
  const widths = Array.from({ length: columns }, (_, depth) =>
    Math.max(...labels.map((label, index) => (depths[index] === depth ? textWidth(label, FONT_SIZE) + 14 : 0))),
  );
  const lefts = widths.map((_, depth) => 8 + widths.slice(0, depth).reduce((sum, width) => sum + width + GAP, 0));
  const width = lefts[columns - 1] + widths[columns - 1] + 8;
  const height = rowCount * ROW_HEIGHT + 8;
  const y = (/** @type {number} */ index) => 4 + (rows[index] + 0.5) * ROW_HEIGHT;
  const boxOf = (/** @type {number} */ index) => ({
    x: lefts[depths[index]],
    y: y(index) - ROW_HEIGHT / 2 + 2,
    width: textWidth(labels[index], FONT_SIZE) + 14,
    height: ROW_HEIGHT - 4,
  });
  const pathTo = (/** @type {number | null} */ index) => {
    const path = /** @type {number[]} */ ([]);
    for (let at = index; at !== null; at = nodes[at].parent) path.unshift(at);
    return path;
  };

  const edge = (/** @type {number} */ index, /** @type {boolean} */ dark) => {
    const { parent, is_best, state } = nodes[index];
    if (parent === null) return null;
    const from = boxOf(parent);
    const [startX, endX] = [from.x + from.width, lefts[depths[index]]];
    const middle = (startX + endX) / 2;
    return h("path", {
      d: `M${startX} ${y(parent)}C${middle} ${y(parent)} ${middle} ${y(index)} ${endX} ${y(index)}`,
      fill: "none",
      stroke: is_best ? series(0, dark).colour : palette(dark).faint,
      "stroke-width": is_best ? 3 : 1.2,
      ...(state === "pruned" && { "stroke-dasharray": "3 3" }),
    });
  };
  const node = (/** @type {number} */ index, /** @type {boolean} */ dark) => {
    const { is_best, state } = nodes[index];
    const { paper, ink, faint, line } = palette(dark);
    const box = boxOf(index);
    return [
      h("rect", {
        ...box,
        rx: state === "finished" ? 11 : 4,
        fill: paper,
        stroke: is_best ? series(0, dark).colour : line,
        "stroke-width": is_best ? 2 : 1,
      }),
      h(
        "text",
        {
          x: box.x + 7,
          y: y(index),
          "dominant-baseline": "central",
          "font-family": FONT,
          "font-size": FONT_SIZE,
          "font-weight": is_best ? 700 : 400,
          fill: state === "pruned" ? faint : ink,
        },
        labels[index],
      ),
    ];
  };
  return {
    kind: "map",
    title,
    width,
    height,
    draw: (dark) => [nodes.map((_, index) => edge(index, dark)), nodes.map((_, index) => node(index, dark))],
    hit: (px, py) => {
      const isUnder = (/** @type {number} */ index) => {
        const { x, y: top, width: wide, height: high } = boxOf(index);
        return px >= x && px <= x + wide && py >= top && py <= top + high;
      };
      const found = nodes.findIndex((_, index) => isUnder(index));
      return found < 0 ? null : found;
    },
    holds: (index) => nodes[index] !== undefined,
    step: (index, key) => nodeByKey({ nodes, depths, rows, children }, index, key),
    cursor: (index, dark) =>
      h("rect", { ...boxOf(index), rx: 4, fill: "none", stroke: palette(dark).cursor, "stroke-width": 2 }),
    describe: (index) => {
      const { log_probability, state, score } = nodes[index];
      const text = joinTokens(pathTo(index).map((at) => nodes[at].piece));
      const parts = [t("translate.score_long", { log_probability: log_probability.toFixed(3) })];
      if (score !== null) parts.push(`${t("compare.score")} ${score.toFixed(3)}`);
      if (STATES[state]) parts.push(t(/** @type {"beam.pruned"} */ (STATES[state])));
      return [h("b", { dir: "auto" }, text), ` ${parts.join(", ")}`];
    },
    table: () => ({
      header: [t("block.token"), "log p", "state", "text"],
      rows: nodes.map(({ piece, log_probability, state }, index) => [
        piece,
        log_probability,
        state,
        joinTokens(pathTo(index).map((at) => nodes[at].piece)),
      ]),
    }),
  };
}

/**
 * Left goes to the parent, right to the most probable child, up and down to the next node of the same length.
 * @param {{ nodes: TreeNode[], depths: number[], rows: number[], children: number[][] }} tree
 * @param {number | null} index
 * @param {string} key
 * @returns {number | undefined}
 */
function nodeByKey({ nodes, depths, rows, children }, index, key) {
  const first = rows.findIndex((row, at) => row === 0 && depths[at] === 0);
  if (key === "Home") return first;
  if (index === null) return key.startsWith("Arrow") ? first : undefined;
  const level = nodes.flatMap((_, at) => (depths[at] === depths[index] ? [at] : [])).sort((a, b) => rows[a] - rows[b]);
  const place = level.indexOf(index);
  const moves = /** @type {Record<string, number | null | undefined>} */ ({
    ArrowLeft: nodes[index].parent,
    ArrowRight: children[index][0],
    ArrowUp: level[place - 1],
    ArrowDown: level[place + 1],
  });
  return Object.hasOwn(moves, key) ? (moves[key] ?? index) : undefined;
}
