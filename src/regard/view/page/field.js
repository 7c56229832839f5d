/**
 * A field of numbers as a picture: one coloured cell for each, painted on a canvas, with a cursor that reads the number.
 *
 * A heat map shows weights from 0 to 1 between tokens; a field shows any numbers between two counted axes.
 */

import { clear, h, svg } from "./make.js";
import { isDark, onTheme, paper, shadeBytes } from "./colour.js";
import { whenWidthChanges } from "./fitting.js";
import { linearScale, readableNumber, roundTicks } from "./scales.js";
import { t } from "./text.js";

const FIELD_FILE_WIDTH = 640;
const FIELD_LEFT = 46;
const FIELD_BOTTOM = 40;
// Below zero, at zero and above it: vermilion and blue are told apart by every kind of colour vision.
const TWO_SIDED = {
  light: [[178, 71, 0], [250, 249, 246], [0, 84, 148]],
  dark: [[240, 155, 77], [26, 30, 38], [98, 180, 240]],
};

/** Three bytes for a number from -1 to 1. */
export function twoSidedBytes(value, dark) {
  const [below, zero, above] = TWO_SIDED[dark ? "dark" : "light"];
  const end = value < 0 ? below : above;
  const part = Math.min(1, Math.abs(value) || 0);
  return zero.map((byte, channel) => Math.round(byte + (end[channel] - byte) * part));
}

/**
 * A picture of `values` (rows x columns, row by row). `twoSided`: numbers around zero, else from zero up; `most`: the number drawn
 * strongest; `shadedFrom`: the row from which on rows are shaded, as `shadedLabel` says; `tell(row, column, value)` words for a cell; `onCell(row, column)` is told of a click. Returns {node, update(changed), toSvg(), stop()}.
 */
export function field(options) {
  const asked = { height: 260, ...options };
  const now = { cell: null };
  const canvas = h("canvas", { class: "field-cells", "aria-hidden": "true" });
  const overlay = h("div", { class: "field-overlay" });
  const readOut = h("p", { class: "read-out", "aria-live": "polite" }, "\u00a0");
  const area = h("div", { class: "field-area", tabindex: 0, role: "application", "aria-label": `${asked.title}. ${t("map.keys")}` }, canvas, overlay);
  const draw = () => {
    const place = fieldPlace(asked, area.clientWidth || FIELD_FILE_WIDTH);
    paintField(canvas, asked, isDark());
    placeCanvas(canvas, place);
    now.place = place;
    now.picture = fieldAxes(asked, place, isDark());
    clear(overlay, now.picture);
    showCell(now.cell);
  };
  const showCell = (cell) => {
    now.cell = cell && cell[0] < asked.rows && cell[1] < asked.columns ? cell : null;
    now.mark?.remove();
    readOut.textContent = now.cell ? asked.tell(...now.cell, asked.values[now.cell[0] * asked.columns + now.cell[1]]) : asked.hint ?? "\u00a0";
    if (now.cell && now.picture) now.picture.append((now.mark = fieldCursor(now, asked)));
  };
  listenToField(area, { asked, now, showCell });
  const stops = [whenWidthChanges(area, draw), onTheme(draw)];
  return {
    node: h("div", { class: "field-picture" }, area, readOut),
    update(changed) {
      Object.assign(asked, changed);
      if (area.clientWidth) draw();
    },
    toSvg: () => fieldPicture(asked),
    stop: () => stops.forEach((stop) => stop()),
  };
}

function fieldPlace(asked, width) {
  const height = asked.isSquare ? Math.min(width - FIELD_LEFT - 8, asked.height) : asked.height;
  const right = asked.isSquare ? FIELD_LEFT + height : width - 8;
  return { width: asked.isSquare ? right + 8 : width, left: FIELD_LEFT, right, top: 6, bottom: 6 + height, height: 6 + height + FIELD_BOTTOM };
}

function paintField(canvas, { values, rows, columns, twoSided, most }, dark) {
  [canvas.width, canvas.height] = [columns, rows];
  const image = new ImageData(Math.max(1, columns), Math.max(1, rows));
  const table = Array.from({ length: 512 }, (_, step) => (twoSided ? twoSidedBytes(step / 255.5 - 1, dark) : shadeBytes(step / 511, dark)));
  for (let index = 0; index < rows * columns; index++) {
    const part = values[index] / (most || 1);
    const step = Math.round(Math.min(511, Math.max(0, twoSided ? (part + 1) * 255.5 : part * 511)));
    const [red, green, blue] = table[step];
    image.data[index * 4] = red;
    image.data[index * 4 + 1] = green;
    image.data[index * 4 + 2] = blue;
    image.data[index * 4 + 3] = 255;
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

function placeCanvas(canvas, place) {
  const box = { left: place.left, top: place.top, width: place.right - place.left, height: place.bottom - place.top };
  for (const [side, length] of Object.entries(box)) canvas.style.setProperty(side, `${length}px`);
}

function fieldAxes(asked, place, dark) {
  const colours = paper(dark);
  const x = linearScale(0, asked.columns, place.left, place.right);
  const y = linearScale(0, asked.rows, place.top, place.bottom);
  const words = { fill: colours.faint, "text-anchor": "middle" };
  const across = axisTicks(asked.columns, Math.max(3, Math.floor((place.right - place.left) / 70)));
  const down = axisTicks(asked.rows, 6);
  const middle = (place.top + place.bottom) / 2;
  return svg(
    "svg",
    { width: place.width, height: place.height, viewBox: `0 0 ${place.width} ${place.height}`, "font-family": "system-ui, sans-serif",
      "font-size": 12, "aria-hidden": "true", focusable: "false" },
    svg("rect", { x: place.left, y: place.top, width: place.right - place.left, height: place.bottom - place.top, fill: "none", stroke: colours.line }),
    shadedRows(asked, place, y, colours),
    across.map((at) => svg("text", { x: x(at + 0.5), y: place.bottom + 15, ...words }, at)),
    down.map((at) => svg("text", { x: place.left - 6, y: y(at + 0.5) + 4, fill: colours.faint, "text-anchor": "end" }, at)),
    svg("text", { x: (place.left + place.right) / 2, y: place.bottom + 34, ...words }, asked.xLabel),
    svg("text", { x: 10, y: middle, transform: `rotate(-90 10 ${middle})`, ...words }, asked.yLabel),
  );
}

/** Rows that are there but do not count, behind a veil, with a word that says why. */
function shadedRows({ rows, shadedFrom = null, shadedLabel }, place, y, colours) {
  if (shadedFrom === null || shadedFrom >= rows) return null;
  const [top, width] = [y(shadedFrom), place.right - place.left];
  const middle = (top + place.bottom) / 2 + 4;
  return [
    svg("rect", { class: "shaded-rows", x: place.left, y: top, width, height: place.bottom - top, fill: colours.paper, opacity: 0.72 }),
    svg("line", { x1: place.left, x2: place.right, y1: top, y2: top, stroke: colours.cursor, "stroke-dasharray": "5 4" }),
    svg("text", { x: place.left + width / 2, y: middle, fill: colours.ink, "text-anchor": "middle" }, shadedLabel),
  ];
}

function axisTicks(count, most) {
  return roundTicks(0, Math.max(1, count - 1), most).filter((at) => Number.isInteger(at) && at < count);
}

function fieldCursor({ cell: [row, column], place }, asked) {
  const colours = paper();
  const [width, height] = [(place.right - place.left) / asked.columns, (place.bottom - place.top) / asked.rows];
  const [x, y] = [place.left + column * width, place.top + row * height];
  const lines = `M${place.left},${y + height / 2}H${place.right}M${x + width / 2},${place.top}V${place.bottom}`;
  return svg("g", { class: "cursor" },
    svg("path", { d: lines, stroke: colours.cursor, "stroke-opacity": 0.35 }),
    svg("rect", { x, y, width, height, fill: "none", stroke: colours.cursor, "stroke-width": 2 }));
}

function listenToField(area, { asked, now, showCell }) {
  const under = (event) => {
    const box = area.getBoundingClientRect();
    const { left, right, top, bottom } = now.place;
    const column = Math.floor(((event.clientX - box.left - left) / (right - left)) * asked.columns);
    const row = Math.floor(((event.clientY - box.top - top) / (bottom - top)) * asked.rows);
    return row >= 0 && column >= 0 && row < asked.rows && column < asked.columns ? [row, column] : null;
  };
  area.addEventListener("pointermove", (event) => showCell(under(event)));
  area.addEventListener("pointerleave", () => showCell(null));
  area.addEventListener("click", (event) => under(event) && asked.onCell?.(...under(event)));
  area.addEventListener("keydown", (event) => {
    const [row, column] = now.cell ?? [0, 0];
    const moves = {
      ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
      Home: [row, 0], End: [row, asked.columns - 1], PageUp: [row - 10, column], PageDown: [row + 10, column],
    };
    if (event.key === "Enter" && now.cell) asked.onCell?.(row, column);
    else if (!(event.key in moves)) return;
    else showCell(moves[event.key].map((at, axis) => Math.max(0, Math.min([asked.rows, asked.columns][axis] - 1, at))));
    event.preventDefault();
  });
}

function fieldPicture(asked) {
  const place = fieldPlace(asked, FIELD_FILE_WIDTH);
  const canvas = h("canvas");
  paintField(canvas, asked, false);
  const picture = fieldAxes(asked, place, false);
  const box = { x: place.left, y: place.top, width: place.right - place.left, height: place.bottom - place.top };
  picture.prepend(
    svg("title", null, asked.title),
    svg("rect", { width: place.width, height: place.height, fill: paper(false).paper }),
    svg("image", { ...box, href: canvas.toDataURL("image/png"), preserveAspectRatio: "none", "image-rendering": "pixelated" }),
  );
  return picture;
}

/** A strip that says which colour is which number: from `low` to `high`. */
export function fieldLegend({ twoSided, most }) {
  const canvas = h("canvas", { class: "field-strip", "aria-hidden": "true" });
  const ramp = Array.from({ length: 64 }, (_, step) => (twoSided ? (step / 31.5 - 1) * most : (step / 63) * most));
  paintField(canvas, { values: ramp, rows: 1, columns: 64, twoSided, most }, isDark());
  return h("span", { class: "field-legend faint" }, readableNumber(twoSided ? -most : 0), canvas, readableNumber(most));
}
