// @ts-check
/** Rows and columns of cells: which one is at a place, where an arrow key leads, and the frame around one. Shared by the charts of cells. */

import { h } from "../core/ui.js";
import { palette } from "./colour.js";

/** @typedef {[row: number, column: number | null]} Cell without a column, the whole row */
/** @typedef {{ left: number, top: number, cellWidth: number, cellHeight: number, rows: number, columns: number }} Grid */

const CROSSHAIR_BELOW = 6; // pixels: a smaller cell is hard to find without lines that lead to it

/**
 * @param {Grid} grid
 * @param {number} x
 * @param {number} y
 * @returns {Cell | null}
 */
export function cellAt({ left, top, cellWidth, cellHeight, rows, columns }, x, y) {
  const [row, column] = [Math.floor((y - top) / cellHeight), Math.floor((x - left) / cellWidth)];
  return row >= 0 && column >= 0 && row < rows && column < columns ? [row, column] : null;
}

/**
 * @param {Grid} grid
 * @param {Cell} cell
 */
export function holdsCell({ rows, columns }, [row, column]) {
  return row < rows && (column ?? 0) < columns;
}

/**
 * @param {Grid} grid
 * @param {Cell | null} cell
 * @param {string} key
 * @returns {Cell | undefined}
 */
export function cellByKey({ rows, columns }, cell, key) {
  const [row, column] = [cell?.[0] ?? 0, cell?.[1] ?? 0];
  /** @type {Record<string, [number, number]>} */
  const moves = {
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    Home: [row, 0],
    End: [row, columns - 1],
    PageUp: [row - 10, column],
    PageDown: [row + 10, column],
  };
  if (!(key in moves) || !rows || !columns) return undefined;
  const within = (/** @type {number} */ at, /** @type {number} */ count) => Math.max(0, Math.min(count - 1, at));
  return [within(moves[key][0], rows), within(moves[key][1], columns)];
}

/**
 * @param {Grid} grid
 * @param {Cell} cell
 * @param {boolean} dark
 */
export function cellCursor({ left, top, cellWidth, cellHeight, rows, columns }, [row, column], dark) {
  const stroke = palette(dark).cursor;
  const [x, y] = [left + (column ?? 0) * cellWidth, top + row * cellHeight];
  const width = column === null ? columns * cellWidth : cellWidth;
  const isSmall = column !== null && Math.min(cellWidth, cellHeight) < CROSSHAIR_BELOW;
  const [right, bottom] = [left + columns * cellWidth, top + rows * cellHeight];
  return [
    h("rect", { x, y, width, height: cellHeight, rx: 2, fill: "none", stroke, "stroke-width": 2 }),
    isSmall && h("path", { d: `M${left} ${y}H${right}M${x} ${top}V${bottom}`, stroke, "stroke-opacity": 0.45 }),
  ];
}
