/** The words of a caption over the image that they describe: light where a word attends, dark elsewhere. */

import { t } from "../core/i18n.js";
import { h } from "../core/ui.js";
import { smoothMap } from "../math/image_attention.js";
import { palette } from "./colour.js";
import { blackMask } from "./png.js";
import { FONT } from "./text_width.js";

/** @import { Box, Regions, WordMap } from "../math/image_attention.js" */
/** @import { Chart } from "./chart.js" */
/** @typedef {Regions & { image: string | null }} ImageGrid an image as an address that holds it; null where it is lost */

const DARKEST = 0.8; // opacity of the cover where the weight is 0
const SMOOTHING = 4; // pixels of the smooth cover to one region
const BOX_COLOUR = "#f0a04b";
const [SIDE, GAP, LABEL] = [132, 10, 22]; // pixels of the sheet

/**
 * An image with one word's map over it, region by region or smoothed, as the content of an <svg> or <g>.
 * @param {ImageGrid} grid
 * @param {WordMap} word
 * @param {{ side: number, isSmooth: boolean, boxes?: Box[] }} options boxes: what the word refers to
 */
export function wordPanel(grid, word, { side, isSmooth, boxes = [] }) {
  return [
    imageBelow(grid.image, { width: side, height: side }),
    isSmooth ? smoothCover(grid, word, side) : cellCover(grid, word, side),
    boxes.map(([left, top, right, bottom]) =>
      h("rect", {
        x: left * side,
        y: top * side,
        width: (right - left) * side,
        height: (bottom - top) * side,
        fill: "none",
        stroke: BOX_COLOUR,
        "stroke-width": 1.5,
      }),
    ),
  ];
}

/**
 * All words of a caption beside their image: region by region above, smoothed below. A cell of this chart is a word.
 * @param {{ grid: ImageGrid, words: WordMap[], title: string, boxes?: (word: number) => Box[] }} data
 * @returns {Chart<number>}
 */
export function imageMaps({ grid, words, title, boxes = () => [] }) {
  const left = (/** @type {number} */ word) => GAP + (word + 1) * (SIDE + GAP);
  const [width, height] = [left(words.length), LABEL + 2 * (SIDE + GAP) + GAP];
  const column = (/** @type {WordMap} */ word, /** @type {number} */ index, /** @type {boolean} */ dark) => [
    h("text", { x: left(index) + SIDE / 2, y: 15, "text-anchor": "middle", fill: palette(dark).ink }, word.text),
    [false, true].map((isSmooth, row) =>
      h(
        "g",
        { transform: `translate(${left(index)} ${LABEL + row * (SIDE + GAP)})` },
        wordPanel(grid, word, { side: SIDE, isSmooth, boxes: boxes(index) }),
      ),
    ),
  ];
  return {
    title,
    width,
    height,
    draw: (dark) =>
      h(
        "g",
        { "font-family": FONT, "font-size": 13 },
        imageBelow(grid.image, { x: GAP, y: LABEL, width: SIDE, height: SIDE }),
        words.map((word, index) => column(word, index, dark)),
      ),
    hit: (x) => {
      const word = Math.floor((x - GAP) / (SIDE + GAP)) - 1;
      return word >= 0 && word < words.length ? word : null;
    },
    step: (word, key) => {
      const last = words.length - 1;
      const next = { ArrowLeft: (word ?? 1) - 1, ArrowRight: (word ?? -1) + 1, Home: 0, End: last }[key];
      return next === undefined || last < 0 ? undefined : Math.min(last, Math.max(0, next));
    },
    cursor: (word, dark) =>
      h("rect", {
        x: left(word),
        y: LABEL,
        width: SIDE,
        height: 2 * SIDE + GAP,
        fill: "none",
        stroke: palette(dark).cursor,
        "stroke-width": 2,
      }),
    describe: (word) => `${words[word].text}: ${peakText(words[word])}`,
    holds: (word) => word < words.length,
    table: () => ({
      header: [
        "",
        ...Array.from(
          { length: grid.rows * grid.columns },
          (_, region) => `${Math.floor(region / grid.columns) + 1},${(region % grid.columns) + 1}`,
        ),
      ],
      rows: words.map(({ text, map }) => [text, ...map]),
    }),
  };
}

/** @param {WordMap} word */
export function peakText({ peak }) {
  return t("pictures.look", { peak: peak.weight.toFixed(2), row: peak.row + 1, column: peak.column + 1 });
}

/**
 * @param {string | null} image
 * @param {{ x?: number, y?: number, width: number, height: number }} box
 */
function imageBelow(image, box) {
  return image ? h("image", { ...box, href: image, preserveAspectRatio: "none" }) : h("rect", { ...box, fill: "#fff" });
}

/**
 * @param {Regions} regions
 * @param {WordMap} word
 * @param {number} side
 */
function cellCover({ rows, columns }, { map, peak }, side) {
  const [width, height] = [side / columns, side / rows];
  return Array.from(map, (weight, region) =>
    h("rect", {
      x: (region % columns) * width,
      y: Math.floor(region / columns) * height,
      width,
      height,
      "fill-opacity": darkness(weight, peak.weight).toFixed(3),
      stroke: "#fff",
      "stroke-opacity": 0.25,
      "stroke-width": 0.5,
    }),
  );
}

/**
 * @param {Regions} regions
 * @param {WordMap} word
 * @param {number} side
 */
function smoothCover(regions, { map, peak }, side) {
  const { values, ...size } = smoothMap(map, regions, SMOOTHING);
  const href = blackMask(
    values.map((weight) => darkness(weight, peak.weight)),
    size,
  );
  return h("image", { width: side, height: side, href, preserveAspectRatio: "none" });
}

/**
 * The opacity of the cover over a weight; 0 over the largest.
 * @param {number} weight
 * @param {number} largest
 */
function darkness(weight, largest) {
  return DARKEST * (1 - weight / (largest || 1));
}
