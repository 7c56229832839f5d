/**
 * A map of weights: who looks (rows) at whom (columns).
 *
 * Up to 64 by 64 every cell is an SVG rectangle; a larger map is painted on a canvas, so that 512 tokens do not freeze the page.
 */

import { inkOn, isDark, onTheme, paper, shade, shadePixels } from "./colour.js";
import { clear, h, svg } from "./make.js";
import { savingButtons } from "./saving.js";
import { t } from "./text.js";

const MOST_RECTANGLES = 64;
const FONT = 'system-ui, "Noto Sans KR", "Noto Sans CJK KR", "Apple SD Gothic Neo", "Malgun Gothic", sans-serif';
const FONT_SIZE = 13;
const LONGEST_LABEL = 14;
const LEAST_LABELLED_CELL = 10;
const [SLANT, STEEP] = [-45, -62]; // degrees; narrow columns need steeper labels

/**
 * A map as {node, update(weights), mark(row, column), toSvg(), stop()}.
 *
 * options: weights (row-major), rows, columns (labels), title; onCell(row, column), onRow(row), onLeave(); gold: [[column, row], ...] is outlined,
 * links: the same, dotted; hidden(row, column): cells that may not be looked at; most: the weight drawn darkest (1); width: the widest it may be;
 * saves: whether it has buttons to save it (true); arrow: how a row and a column are joined when a cell is read out.
 */
export function heatmap(options) {
  const state = { most: 1, width: 560, saves: true, ...options, cursor: null };
  const place = geometry(state);
  const canvas = place.isPainted ? h("canvas", { class: "map-cells", "aria-hidden": "true" }) : null;
  const drawing = svg("svg", { class: "map-drawing", "aria-hidden": "true", focusable: "false" });
  const readout = h("p", { class: "map-readout", "aria-live": "polite" }, "\u00a0");
  const area = h(
    "div",
    { class: "map-area", tabindex: "0", role: "application", "aria-label": `${state.title}. ${t("map.keys")}` },
    canvas,
    drawing,
  );
  const mark = (row, column) => markCell({ state, place, drawing, readout }, row, column);
  const show = () => {
    drawMap({ state, place, canvas, drawing });
    if (state.cursor) mark(...state.cursor); // whoever rests on a cell reads its new number
  };
  listenToMap(area, { state, place, mark, readout });
  const stop = onTheme(show);
  show();
  const toSvg = () => standalone(state, place);
  return {
    node: h("figure", { class: "map" }, area, readout, state.saves && savingButtons(toSvg, state.title)),
    update(weights, changes = {}) {
      Object.assign(state, changes, { weights });
      show();
    },
    mark,
    toSvg,
    stop,
  };
}

/** Paint weights one pixel per cell; CSS makes it as large as it should be. */
export function paintMap(canvas, { weights, rows, columns, most = 1, dark = isDark() }) {
  [canvas.width, canvas.height] = [columns, rows];
  const image = new ImageData(Math.max(1, columns), Math.max(1, rows));
  const pixels = new Uint32Array(image.data.buffer);
  const ramp = shadePixels(dark);
  const last = ramp.length - 1;
  for (let index = 0; index < rows * columns; index += 1) {
    const step = (weights[index] / most) * last + 0.5;
    pixels[index] = ramp[step >= last ? last : step | 0];
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

/** Where everything stands: sizes of labels and cells. */
function geometry({ rows, columns, width }) {
  const left = labelSpace(rows);
  const room = Math.max(140, width - left - 8);
  const isPainted = rows.length > MOST_RECTANGLES || columns.length > MOST_RECTANGLES;
  const fitting = room / Math.max(1, columns.length);
  const cell = isPainted ? Math.max(1, fitting) : Math.min(46, Math.max(9, fitting));
  const isLabelled = cell >= LEAST_LABELLED_CELL;
  const top = isLabelled ? labelSpace(columns) * (cell < 20 ? 0.9 : 0.72) + 6 : 4;
  const start = isLabelled ? left : 4;
  return {
    left: start,
    top,
    cell,
    isPainted,
    isLabelled,
    width: start + cell * columns.length + (isLabelled ? 8 + labelSpace(columns.slice(-1)) * 0.5 : 4),
    height: top + cell * rows.length + 4,
  };
}

function labelSpace(labels) {
  return 10 + Math.max(8, ...labels.map((label) => textWidth(shortened(label))));
}

function textWidth(text) {
  return [...text].reduce((sum, letter) => sum + (letter.codePointAt(0) > 0x1100 ? 0.98 : 0.6) * FONT_SIZE, 0);
}

function shortened(label) {
  const letters = [...label];
  return letters.length > LONGEST_LABEL ? `${letters.slice(0, LONGEST_LABEL - 1).join("")}…` : label;
}

function drawMap({ state, place, canvas, drawing }) {
  if (canvas) paintCells(canvas, state, place);
  sizeDrawing(drawing, place);
  clear(drawing, mapParts(state, place, isDark(), Boolean(canvas)), svg("g", { class: "map-cursor" }));
}

function sizeDrawing(drawing, { width, height }) {
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) drawing.setAttribute(name, value);
}

function paintCells(canvas, state, place) {
  paintMap(canvas, { weights: state.weights, rows: state.rows.length, columns: state.columns.length, most: state.most });
  const box = { left: place.left, top: place.top, width: place.cell * state.columns.length, height: place.cell * state.rows.length };
  for (const [side, length] of Object.entries(box)) {
    const whole = side === "left" || side === "width" ? place.width : place.height;
    canvas.style.setProperty(side, `${(length / whole) * 100}%`);
  }
}

function mapParts(state, place, dark, skipsCells) {
  const colours = paper(dark);
  return [
    !skipsCells && cells(state, place, dark),
    svg("rect", {
      x: place.left,
      y: place.top,
      width: place.cell * state.columns.length,
      height: place.cell * state.rows.length,
      fill: "none",
      stroke: colours.line,
    }),
    place.isLabelled && rowLabels(state, place, colours),
    place.isLabelled && columnLabels(state, place, colours),
    outlines(state.links, place, { stroke: colours.faint, "stroke-dasharray": "2 3", "stroke-width": 1.5 }),
    outlines(state.gold, place, { stroke: colours.gold, "stroke-width": 2.5 }),
  ];
}

function cells({ weights, rows, columns, most, hidden }, { left, top, cell }, dark) {
  const gap = cell > 14 ? 1 : 0;
  return rows.flatMap((_, row) =>
    columns.map((__, column) => {
      const weight = weights[row * columns.length + column] / most;
      const box = { x: left + column * cell, y: top + row * cell, width: cell - gap, height: cell - gap };
      const square = svg("rect", { ...box, fill: shade(weight, dark) });
      if (!hidden?.(row, column)) return square;
      const stroke = paper(dark).line;
      return [square, svg("path", { d: `M${box.x} ${box.y + box.height}L${box.x + box.width} ${box.y}`, stroke })];
    }),
  );
}

function rowLabels({ rows }, { left, top, cell }, colours) {
  return rows.map((label, row) =>
    svg(
      "text",
      { x: left - 6, y: top + (row + 0.5) * cell, "text-anchor": "end", "dominant-baseline": "central", ...labelStyle(colours, cell) },
      shortened(label),
    ),
  );
}

function columnLabels({ columns }, { left, top, cell }, colours) {
  return columns.map((label, column) => {
    const [x, y] = [left + (column + 0.5) * cell, top - 6];
    const turn = cell < 20 ? STEEP : SLANT;
    return svg("text", { x: x + 3, y, transform: `rotate(${turn} ${x} ${y})`, ...labelStyle(colours, cell) }, shortened(label));
  });
}

function labelStyle(colours, cell) {
  return { fill: colours.ink, "font-family": FONT, "font-size": Math.min(FONT_SIZE, Math.max(9, cell * 0.8)) };
}

function outlines(pairs, { left, top, cell }, style) {
  const inset = Math.min(2, cell / 8);
  return (pairs ?? []).map(([column, row]) =>
    svg("rect", {
      x: left + column * cell + inset,
      y: top + row * cell + inset,
      width: cell - 2 * inset - 1,
      height: cell - 2 * inset - 1,
      rx: 2,
      fill: "none",
      ...style,
    }),
  );
}

/** Frame a cell (or, without a column, its row) and read it out. */
function markCell({ state, place, drawing, readout }, row, column) {
  const layer = drawing.querySelector(".map-cursor");
  state.cursor = row === null || row === undefined ? null : [row, column ?? null];
  if (!state.cursor) {
    clear(layer);
    clear(readout, "\u00a0");
    return;
  }
  const { left, top, cell } = place;
  const isRow = state.cursor[1] === null;
  const box = isRow
    ? { x: left, y: top + row * cell, width: cell * state.columns.length, height: cell }
    : { x: left + column * cell, y: top + row * cell, width: cell, height: cell };
  const style = { fill: "none", stroke: paper().cursor, "stroke-width": 2, rx: 2 };
  clear(layer, svg("rect", { ...box, ...style }), !isRow && cell < 6 && crosshair(state, place, box, paper().cursor));
  if (!isRow) clear(readout, cellText(state, row, column));
}

function crosshair({ rows, columns }, { left, top, cell }, { x, y }, stroke) {
  const [right, bottom] = [left + columns.length * cell, top + rows.length * cell];
  return svg("path", { d: `M${left} ${y}H${right}M${x} ${top}V${bottom}`, stroke, "stroke-opacity": 0.45 });
}

function cellText(state, row, column) {
  const weight = state.weights[row * state.columns.length + column];
  const value = state.hidden?.(row, column) ? t("map.hidden") : Number(weight).toFixed(3);
  return [
    h("b", null, state.rows[row]),
    ` ${state.arrow ?? "→"} `,
    h("b", null, state.columns[column]),
    " ",
    h("span", { class: "number", style: { background: shade(weight / state.most), color: inkOn(weight / state.most) } }, value),
  ];
}

function listenToMap(area, { state, place, mark, readout }) {
  const choose = (row, column) => {
    if (state.cursor && state.cursor[0] === row && state.cursor[1] === column) return;
    mark(row, column);
    state.onCell?.(row, column);
  };
  const leave = () => {
    mark(null);
    state.onLeave?.();
  };
  area.addEventListener("pointermove", (event) => {
    const cell = cellAt(event, area, state, place);
    if (cell) choose(...cell);
    else if (state.cursor) leave();
  });
  area.addEventListener("pointerleave", leave);
  area.addEventListener("click", (event) => {
    const cell = cellAt(event, area, state, place);
    if (cell) state.onRow?.(cell[0]);
  });
  area.addEventListener("keydown", (event) => moveCursor(event, state, choose));
  area.addEventListener("focus", () => area.matches(":focus-visible") && !state.cursor && state.rows.length && choose(0, 0));
  area.addEventListener("blur", () => clear(readout, "\u00a0") && leave());
}

function cellAt(event, area, { rows, columns }, place) {
  const box = area.getBoundingClientRect();
  const scale = place.width / area.querySelector("svg").getBoundingClientRect().width;
  const column = Math.floor(((event.clientX - box.left) * scale - place.left) / place.cell);
  const row = Math.floor(((event.clientY - box.top) * scale - place.top) / place.cell);
  return row >= 0 && column >= 0 && row < rows.length && column < columns.length ? [row, column] : null;
}

function moveCursor(event, state, choose) {
  const [row, column] = [state.cursor?.[0] ?? 0, state.cursor?.[1] ?? 0];
  const [lastRow, lastColumn] = [state.rows.length - 1, state.columns.length - 1];
  const moves = {
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    Home: [row, 0],
    End: [row, lastColumn],
    PageUp: [row - 10, column],
    PageDown: [row + 10, column],
  };
  if (event.key === "Enter" || event.key === " ") state.onRow?.(row);
  else if (!(event.key in moves)) return;
  else choose(...moves[event.key].map((value, axis) => Math.max(0, Math.min([lastRow, lastColumn][axis], value))));
  event.preventDefault();
}

/** The whole map as one <svg> that needs no style sheet, on white paper. */
function standalone(state, place) {
  const picture = svg("svg", { xmlns: "http://www.w3.org/2000/svg" });
  sizeDrawing(picture, place);
  const { width, height } = place;
  picture.append(svg("title", null, state.title), svg("rect", { width, height, fill: paper(false).paper }));
  if (place.isPainted) picture.append(paintedCells(state, place));
  for (const child of mapParts(state, place, false, place.isPainted).flat(Infinity)) if (child) picture.append(child);
  return picture;
}

function paintedCells({ weights, rows, columns, most }, { left, top, cell }) {
  const canvas = h("canvas");
  paintMap(canvas, { weights, rows: rows.length, columns: columns.length, most, dark: false });
  const box = { x: left, y: top, width: cell * columns.length, height: cell * rows.length };
  return svg("image", { ...box, href: canvas.toDataURL("image/png"), preserveAspectRatio: "none", "image-rendering": "pixelated" });
}
