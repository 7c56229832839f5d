// @ts-check
/** A heatmap of attention weights: queries are rows, keys are columns. Up to 64 by 64 in SVG, larger ones on a canvas. */

import { t } from "../core/i18n.js";
import { h } from "../core/ui.js";
import { cellAt, cellByKey, cellCursor, holdsCell } from "./cell_cursor.js";
import { inkOn, palette, shade, shadePixels } from "./colour.js";
import { cut, FONT, textWidth } from "./text_width.js";

/** @import { Chart } from "./chart.js" */
/** @import { Cell } from "./cell_cursor.js" */
/** @import { ComponentChildren } from "../core/ui.js" */

/**
 * @typedef {object} HeatmapData
 * @property {ArrayLike<number>} weights row by row
 * @property {string[]} rows labels
 * @property {string[]} columns labels
 * @property {string} title
 * @property {number} [most] the weight drawn darkest
 * @property {(row: number, column: number) => boolean} [hidden] cells that may not be attended to
 * @property {[column: number, row: number][] | null} [gold] true links, outlined
 * @property {[column: number, row: number][] | null} [links] predicted links, dotted
 */

const MOST_RECTANGLES = 64;
const FONT_SIZE = 13;
const LONGEST_LABEL = 14; // letters
const LEAST_LABELLED = 10; // pixels of a cell

/**
 * @param {HeatmapData} data
 * @param {{ width: number }} size
 * @returns {Chart<Cell>}
 */
export function heatmap({ weights, rows, columns, title, most = 1, hidden, gold, links }, { width: room }) {
  const labelRoom = (/** @type {string[]} */ labels) =>
    10 + Math.max(8, ...labels.map((label) => textWidth(cut(label, LONGEST_LABEL), FONT_SIZE)));
  const isPainted = rows.length > MOST_RECTANGLES || columns.length > MOST_RECTANGLES;
  const fitting = Math.max(140, room - labelRoom(rows) - 8) / Math.max(1, columns.length);
  const cell = isPainted ? Math.max(1, fitting) : Math.min(46, Math.max(9, fitting));
  const isLabelled = cell >= LEAST_LABELLED;
  const left = isLabelled ? labelRoom(rows) : 4;
  const top = isLabelled ? labelRoom(columns) * (cell < 20 ? 0.9 : 0.72) + 6 : 4;
  const box = { x: left, y: top, width: cell * columns.length, height: cell * rows.length };
  const grid = { left, top, cellWidth: cell, cellHeight: cell, rows: rows.length, columns: columns.length };
  const weightAt = (/** @type {number} */ row, /** @type {number} */ column) => weights[row * columns.length + column];

  const cells = (/** @type {boolean} */ dark) => {
    const gap = cell > 14 ? 1 : 0;
    const side = cell - gap;
    return rows.flatMap((_, row) =>
      columns.map((__, column) => {
        const [x, y] = [left + column * cell, top + row * cell];
        const square = h("rect", { x, y, width: side, height: side, fill: shade(weightAt(row, column) / most, dark) });
        return hidden?.(row, column)
          ? [square, h("path", { d: `M${x} ${y + side}l${side} ${-side}`, stroke: palette(dark).line })]
          : square;
      }),
    );
  };

  const labels = (/** @type {boolean} */ dark) => {
    const style = {
      fill: palette(dark).ink,
      "font-family": FONT,
      "font-size": Math.min(FONT_SIZE, Math.max(9, cell * 0.8)),
    };
    const turn = cell < 20 ? -62 : -45; // narrow columns need steeper labels
    return [
      rows.map((label, row) =>
        h(
          "text",
          { x: left - 6, y: top + (row + 0.5) * cell, "text-anchor": "end", "dominant-baseline": "central", ...style },
          cut(label, LONGEST_LABEL),
        ),
      ),
      columns.map((label, column) => {
        const [x, y] = [left + (column + 0.5) * cell, top - 6];
        return h("text", { x: x + 3, y, transform: `rotate(${turn} ${x} ${y})`, ...style }, cut(label, LONGEST_LABEL));
      }),
    ];
  };

  /** @type {(pairs: [number, number][], styleOf: (row: number, column: number) => object) => ComponentChildren} */
  const outlines = (pairs, styleOf) => {
    const inset = Math.min(2, cell / 8);
    const side = cell - 2 * inset - 1;
    return pairs.map(([column, row]) =>
      h("rect", {
        x: left + column * cell + inset,
        y: top + row * cell + inset,
        width: side,
        height: side,
        rx: 2,
        fill: "none",
        ...styleOf(row, column),
      }),
    );
  };

  return {
    kind: "map",
    scale: most,
    title,
    width: left + box.width + (isLabelled ? 8 + labelRoom(columns.slice(-1)) * 0.5 : 4),
    height: top + box.height + 4,
    raster: isPainted
      ? {
          ...box,
          paint: (canvas, dark) =>
            paintWeights(canvas, { weights, rows: rows.length, columns: columns.length, most }, dark),
        }
      : undefined,
    draw: (dark) => [
      !isPainted && cells(dark),
      h("rect", { ...box, fill: "none", stroke: palette(dark).line }),
      isLabelled && labels(dark),
      outlines(links ?? [], (row, column) => ({
        stroke: inkOn(weightAt(row, column) / most, dark), // grey would vanish on a cell of middle weight
        "stroke-dasharray": "2 3",
        "stroke-width": 1.5,
      })),
      outlines(gold ?? [], () => ({ stroke: palette(dark).gold, "stroke-width": 2.5 })),
    ],
    hit: (x, y) => cellAt(grid, x, y),
    holds: (at) => holdsCell(grid, at),
    step: (at, key) => cellByKey(grid, at, key),
    cursor: (at, dark) => cellCursor(grid, at, dark),
    describe: ([row, column], dark) => {
      if (column === null) return rows[row];
      const share = weightAt(row, column) / most;
      const value = hidden?.(row, column) ? t("map.hidden") : weightAt(row, column).toFixed(3);
      const style = { background: shade(share, dark), color: inkOn(share, dark) };
      return [
        h("b", null, rows[row]),
        " → ",
        h("b", null, columns[column]),
        " ",
        h("span", { class: "number", style }, value),
      ];
    },
    table: () => ({
      header: ["", ...columns],
      rows: rows.map((label, row) => [label, ...columns.map((_, column) => weightAt(row, column))]),
    }),
  };
}

/**
 * Weights painted on a canvas, one pixel for each; CSS makes it as large as it should be.
 * @param {HTMLCanvasElement} canvas
 * @param {{ weights: ArrayLike<number>, rows: number, columns: number, most?: number }} map `most`: the weight drawn darkest
 * @param {boolean} dark
 */
export function paintWeights(canvas, { weights, rows, columns, most = 1 }, dark) {
  [canvas.width, canvas.height] = [columns, rows];
  const image = new ImageData(Math.max(1, columns), Math.max(1, rows));
  const pixels = new Uint32Array(image.data.buffer);
  const ramp = shadePixels(dark);
  const last = ramp.length - 1;
  for (let index = 0; index < rows * columns; index += 1) {
    const step = (weights[index] / most) * last + 0.5;
    pixels[index] = ramp[step >= last ? last : step | 0];
  }
  canvas.getContext("2d")?.putImageData(image, 0, 0);
}
