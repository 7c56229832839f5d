/** Where words looked in a picture: maps out of a trace's weights, whether they hit a box, and how they are drawn. */

import { paper } from "./colour.js";
import { h, svg } from "./make.js";

const DARKEST = 0.8; // how much of the light is taken where nothing was looked at
const SMOOTHING = 4; // pixels of a mask to one cell of the grid
const WORD_PANEL = 116; // pixels of a word's picture

/** The words of a caption without `<s>`: {text, pieces, map, peak: {weight, row, column}}; a word looks as its pieces do on average. */
export function wordMaps({ target, rows, columns }, { weights }) {
  return target.words.slice(1).map((pieces, index) => {
    const map = new Float32Array(rows * columns);
    for (const piece of pieces) for (let place = 0; place < map.length; place += 1) map[place] += weights[(piece - 1) * map.length + place] / pieces.length;
    return { text: target.spelled[index + 1], pieces, map, peak: peakOf(map, columns) };
  });
}

/** A word of a caption that still grows, as the server tells it. */
export function saidWord({ text, weights }, { columns }) {
  return { text, pieces: [], map: Float32Array.from(weights), peak: peakOf(weights, columns) };
}

function peakOf(map, columns) {
  const most = map.reduce((best, weight, place) => (weight > map[best] ? place : best), 0);
  return { weight: map[most], row: Math.floor(most / columns), column: most % columns };
}

/** Whether a peak lies in one of the boxes: its cell's centre does, or its cell holds the box's centre (as metrics/pointing.py has it). */
export function hitsBox({ row, column }, { rows, columns }, boxes) {
  const [x, y] = [(column + 0.5) / columns, (row + 0.5) / rows];
  const cell = (share, cells) => Math.min(Math.max(Math.floor(share * cells), 0), cells - 1);
  return boxes.some(([left, top, right, bottom]) =>
    (left <= x && x <= right && top <= y && y <= bottom) || (row === cell((top + bottom) / 2, rows) && column === cell((left + right) / 2, columns)));
}

/** A picture lit where a word looked, as an <svg> of its own: cell by cell, or smoothed. Where `picture` is null, it is white. */
export function regionPanel({ picture, rows, columns }, word, { side, isSmooth, boxes = [] }) {
  const frame = { width: side, height: side };
  const cover = isSmooth ? svg("image", { ...frame, href: maskAddress(word, rows, columns), preserveAspectRatio: "none" }) : cellsOf(word, rows, columns, side);
  return svg("svg", { ...frame, viewBox: `0 0 ${side} ${side}`, "aria-hidden": "true" },
    groundOf(picture, frame), cover, boxes.map((box) => outlineOf(box, side)));
}

function groundOf(picture, frame) {
  return picture ? svg("image", { ...frame, href: picture, preserveAspectRatio: "none" }) : svg("rect", { ...frame, fill: "#fff" });
}

/** The picture by itself, as large as a word's. */
export function seenPicture(picture, label) {
  return h("img", { class: "picture-seen", src: picture, alt: label, title: label, width: WORD_PANEL, height: WORD_PANEL });
}

/** A word, its map cell by cell and smoothed, and its largest weight. */
export function wordPanels(seen, word, { boxes = [], mark = "" } = {}) {
  return [
    h("b", { dir: "auto" }, word.text),
    [false, true].map((isSmooth) => regionPanel(seen, word, { side: WORD_PANEL, isSmooth, boxes })),
    h("span", { class: "number faint", "aria-hidden": "true" }, word.peak.weight.toFixed(2), mark),
  ];
}

/** All words in one picture to save: the grid above, the smooth map below. */
export function regionSheet(answer, words, boxesOf, side = 132) {
  const [gap, label] = [10, 22];
  const colours = paper();
  const [width, height] = [(words.length + 1) * (side + gap) + gap, label + 2 * (side + gap) + gap];
  const at = (x, y, node) => {
    node.setAttribute("x", x);
    node.setAttribute("y", y);
    return node;
  };
  const columns = words.map((word, index) => {
    const x = gap + (index + 1) * (side + gap);
    const text = svg("text", { x: x + side / 2, y: 15, "text-anchor": "middle", fill: colours.ink }, word.text);
    return [text, ...[false, true].map((isSmooth, row) => at(x, label + row * (side + gap), regionPanel(answer, word, { side, isSmooth, boxes: boxesOf(index) })))];
  });
  return svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "system-ui, sans-serif", "font-size": 13 },
    svg("rect", { width, height, fill: colours.paper }), groundOf(answer.picture, { x: gap, y: label, width: side, height: side }), columns);
}

function cellsOf({ map, peak }, rows, columns, side) {
  const [wide, high] = [side / columns, side / rows];
  return Array.from(map, (weight, place) =>
    svg("rect", {
      x: (place % columns) * wide, y: Math.floor(place / columns) * high, width: wide, height: high,
      "fill-opacity": (DARKEST * (1 - weight / (peak.weight || 1))).toFixed(3), stroke: "#fff", "stroke-opacity": 0.25, "stroke-width": 0.5,
    }));
}

function outlineOf([left, top, right, bottom], side) {
  return svg("rect", { x: left * side, y: top * side, width: (right - left) * side, height: (bottom - top) * side, fill: "none", stroke: "#f0a04b", "stroke-width": 1.5 });
}

/** Black that hides more where there is less light, as a picture of a few pixels to a cell. */
function maskAddress({ map, peak }, rows, columns) {
  const [width, height] = [columns * SMOOTHING, rows * SMOOTHING];
  const canvas = h("canvas", { width, height });
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(width, height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const light = between(map, rows, columns, (y + 0.5) / SMOOTHING - 0.5, (x + 0.5) / SMOOTHING - 0.5) / (peak.weight || 1);
      pixels.data[(y * width + x) * 4 + 3] = Math.round(255 * DARKEST * (1 - light));
    }
  }
  context.putImageData(pixels, 0, 0);
  return canvas.toDataURL();
}

/** The weight between the centres of cells, mixed from the nearest four; at the rim as in the outermost cells. */
function between(map, rows, columns, row, column) {
  const [y, x] = [Math.min(Math.max(row, 0), rows - 1), Math.min(Math.max(column, 0), columns - 1)];
  const [top, left] = [Math.floor(y), Math.floor(x)];
  const [bottom, right] = [Math.min(top + 1, rows - 1), Math.min(left + 1, columns - 1)];
  const along = (line) => map[line * columns + left] * (1 - (x - left)) + map[line * columns + right] * (x - left);
  return along(top) * (1 - (y - top)) + along(bottom) * (y - top);
}
