/** An image divided into the regions that a model attends to; some of them are crossed out. */

import { h } from "../core/ui.js";
import { cellAt, cellByKey, cellCursor, holdsCell } from "./cell_cursor.js";
import { palette } from "./colour.js";

/** @import { Chart } from "./chart.js" */
/** @import { Cell } from "./cell_cursor.js" */

const SIDE = 224; // pixels

/**
 * @param {object} data
 * @param {number} data.rows
 * @param {number} data.columns
 * @param {string} data.image its address
 * @param {number[]} data.hidden regions that are crossed out, row by row
 * @param {string} data.title
 * @param {(number: number) => string} data.describe a region, counted from 1
 * @returns {Chart<Cell>}
 */
export function regionGrid({ rows, columns, image, hidden, title, describe }) {
  const grid = { left: 0, top: 0, cellWidth: SIDE / columns, cellHeight: SIDE / rows, rows, columns };
  const numberOf = (/** @type {Cell} */ [row, column]) => row * columns + (column ?? 0);
  const cross = (/** @type {number} */ region, /** @type {boolean} */ dark) => {
    const [x, y] = [(region % columns) * grid.cellWidth, Math.floor(region / columns) * grid.cellHeight];
    const { paper, gold } = palette(dark);
    return [
      h("rect", { x, y, width: grid.cellWidth, height: grid.cellHeight, fill: paper, "fill-opacity": 0.85 }),
      h("path", { d: `M${x} ${y}l${grid.cellWidth} ${grid.cellHeight}`, stroke: gold, "stroke-width": 2 }),
    ];
  };
  return {
    kind: "map",
    title,
    width: SIDE,
    height: SIDE,
    draw: (dark) => [
      h("image", { href: image, width: SIDE, height: SIDE, preserveAspectRatio: "none" }),
      hidden.map((region) => cross(region, dark)),
    ],
    hit: (x, y) => cellAt(grid, x, y),
    holds: (cell) => holdsCell(grid, cell),
    step: (cell, key) => cellByKey(grid, cell, key),
    cursor: (cell, dark) => cellCursor(grid, cell, dark),
    describe: (cell) => [describe(numberOf(cell) + 1), hidden.includes(numberOf(cell)) && " ✕"],
    table: () => ({
      header: ["", ...Array.from({ length: columns }, (_, column) => String(column + 1))],
      rows: Array.from({ length: rows }, (_, row) => [
        row + 1,
        ...Array.from({ length: columns }, (__, column) => (hidden.includes(numberOf([row, column])) ? 1 : 0)),
      ]),
    }),
  };
}
