// @ts-check
/** A matrix of numbers between two counted axes, one coloured pixel for each; around zero, or from zero up. */

import { h } from "../core/ui.js";
import { xAxis, yAxis } from "./axes.js";
import { cellAt, cellByKey, cellCursor, holdsCell } from "./cell_cursor.js";
import { divergingBytes, palette, shadeBytes } from "./colour.js";
import { linearScale, roundTicks } from "./scales.js";
import { FONT } from "./text_width.js";

/** @import { Chart } from "./chart.js" */
/** @import { Cell } from "./cell_cursor.js" */

/**
 * @typedef {object} MatrixHeatmapData
 * @property {ArrayLike<number>} values row by row
 * @property {number} rows
 * @property {number} columns
 * @property {string} title
 * @property {string} xLabel
 * @property {string} yLabel
 * @property {number} most the number drawn strongest
 * @property {boolean} twoSided numbers around zero
 * @property {(row: number, column: number, value: number) => string} describe
 * @property {{ from: number, label: string } | null} [shaded] rows behind a veil, and why
 * @property {boolean} [isSquare]
 */

const STEPS = 512;

/**
 * @param {MatrixHeatmapData} data
 * @param {{ width: number, height?: number }} size
 * @returns {Chart<Cell>}
 */
export function matrixHeatmap(
  { values, rows, columns, title, xLabel, yLabel, most, twoSided, describe, shaded, isSquare = false },
  { width, height = 260 },
) {
  const [left, top] = [46, 6];
  const tall = isSquare ? Math.min(width - left - 8, height) : height;
  const right = isSquare ? left + tall : width - 8;
  const frame = { left, right, top, bottom: top + tall };
  const grid = { left, top, cellWidth: (right - left) / columns, cellHeight: tall / rows, rows, columns };
  const x = linearScale(0, columns, left, right);
  const y = linearScale(0, rows, top, frame.bottom);
  const ticks = (
    /** @type {number} */ count,
    /** @type {number} */ atMost,
    /** @type {(value: number) => number} */ scale,
  ) =>
    roundTicks(0, Math.max(1, count - 1), atMost)
      .filter((/** @type {number} */ at) => Number.isInteger(at) && at < count)
      .map((/** @type {number} */ at) => ({ at: scale(at + 0.5), label: at }));

  const veil = (/** @type {boolean} */ dark) => {
    if (!shaded || shaded.from >= rows) return null;
    const { paper, ink, cursor } = palette(dark);
    const from = y(shaded.from);
    return [
      h("rect", {
        class: "shaded-rows",
        x: left,
        y: from,
        width: right - left,
        height: frame.bottom - from,
        fill: paper,
        opacity: 0.72,
      }),
      h("line", { x1: left, x2: right, y1: from, y2: from, stroke: cursor, "stroke-dasharray": "5 4" }),
      h(
        "text",
        { x: (left + right) / 2, y: (from + frame.bottom) / 2 + 4, fill: ink, "text-anchor": "middle" },
        shaded.label,
      ),
    ];
  };

  return {
    kind: "field",
    title,
    width: isSquare ? right + 8 : width,
    height: frame.bottom + 40,
    raster: {
      x: left,
      y: top,
      width: right - left,
      height: tall,
      paint: (canvas, dark) => paintNumbers(canvas, { values, rows, columns, most, twoSided }, dark),
    },
    draw: (dark) =>
      h(
        "g",
        { "font-family": FONT, "font-size": 12 },
        h("rect", { x: left, y: top, width: right - left, height: tall, fill: "none", stroke: palette(dark).line }),
        veil(dark),
        xAxis(frame, ticks(columns, Math.max(3, Math.floor((right - left) / 70)), x), xLabel, dark),
        yAxis(frame, ticks(rows, 6, y), yLabel, dark),
      ),
    hit: (px, py) => cellAt(grid, px, py),
    holds: (cell) => holdsCell(grid, cell),
    step: (cell, key) => cellByKey(grid, cell, key),
    cursor: (cell, dark) => cellCursor(grid, cell, dark),
    describe: ([row, column]) => describe(row, column ?? 0, values[row * columns + (column ?? 0)]),
    table: () => ({
      header: [`${yLabel} / ${xLabel}`, ...Array.from({ length: columns }, (_, column) => String(column))],
      rows: Array.from({ length: rows }, (_, row) => [
        row,
        ...Array.from({ length: columns }, (__, column) => values[row * columns + column]),
      ]),
    }),
  };
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Pick<MatrixHeatmapData, "values" | "rows" | "columns" | "most" | "twoSided">} data
 * @param {boolean} dark
 */
function paintNumbers(canvas, { values, rows, columns, most, twoSided }, dark) {
  [canvas.width, canvas.height] = [columns, rows];
  const image = new ImageData(Math.max(1, columns), Math.max(1, rows));
  const ramp = Array.from({ length: STEPS }, (_, step) =>
    twoSided ? divergingBytes((2 * step) / (STEPS - 1) - 1, dark) : shadeBytes(step / (STEPS - 1), dark),
  );
  const colours = new Uint32Array(Uint8ClampedArray.from(ramp.flatMap((bytes) => [...bytes, 255])).buffer);
  const pixels = new Uint32Array(image.data.buffer);
  for (let index = 0; index < rows * columns; index++) {
    const share = values[index] / (most || 1);
    const step = Math.round((twoSided ? (share + 1) / 2 : share) * (STEPS - 1));
    pixels[index] = colours[Math.min(STEPS - 1, Math.max(0, step))];
  }
  canvas.getContext("2d")?.putImageData(image, 0, 0);
}
