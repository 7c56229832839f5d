/**
 * Ribbons between the words of a sentence and its translation, as wide as the attention weights between them.
 *
 * The words are buttons that the browser lays out; this chart gets their measured boxes. Words may wrap onto several lines.
 * Only words on the line next to the other side are touched by a ribbon: on its way to another line it would cross words
 * that it does not mean. There, a ribbon ends in a dot at the edge, and a line in the same colour marks its word (a tie).
 */

import { h } from "../core/ui.js";
import { FAINTEST, weightBetween } from "../math/alignment.js";
import { inkOn, palette, series, shade } from "./colour.js";
import { FONT } from "./text_width.js";

/** @import { Chart } from "./chart.js" */
/** @import { ComponentChildren } from "../core/ui.js" */
/** @import { Link, SideName, WordPlace } from "../math/alignment.js" */
/** @typedef {{ left: number, top: number, width: number, height: number }} Box */
/** @typedef {{ width: number, height: number, fontSize: number, source: Box[], target: Box[] }} WordLayout boxes of the words */
/** @typedef {{ from: number, to: number, weight: number, tie: number, isFaint: boolean }} Ribbon tie: colour, 0 for none */
/** @typedef {{ x: number, y: number, isTouching: boolean }} RibbonEnd */

/**
 * @typedef {object} RibbonsData
 * @property {string} title
 * @property {string[]} source
 * @property {string[]} target
 * @property {number[][] | null} weights [target][source]; null for a model without attention
 * @property {Link[]} links drawn faintly while no word is active
 * @property {Link[] | null} gold
 * @property {WordPlace | null} active
 */

/** @typedef {{ light: number | null, tie: number, isGold: boolean }} WordStyle light: a weight, null where the word is not lit */

/**
 * The chart, what its HTML words are styled by, and the ribbons alone, which the page draws behind them.
 * @typedef {Chart<WordPlace> & { wordStyle(word: WordPlace): WordStyle, ribbons(dark: boolean): ComponentChildren }} RibbonsChart
 */

export const TIE_HEIGHT = 3; // pixels of the line under a word that has its ribbon's colour
const MOST_TIES = 6; // each needs a colour of its own
const EDGE_GAP = 9; // pixels from a block of lines to the dot of a ribbon that touches none of its words
const DOT_DISTANCE = 10; // pixels between two dots
const SIDES = /** @type {const} */ (["source", "target"]);
const NO_DOTS = /** @type {Map<number, number>} */ (new Map());
const ENDS = /** @type {const} */ ({ source: "from", target: "to" });

/**
 * @param {RibbonsData} data
 * @param {WordLayout} layout
 * @returns {RibbonsChart}
 */
export function ribbons(data, layout) {
  const drawn = ribbonsOf(data, layout);
  const words = SIDES.flatMap((side) => layout[side].map((_, index) => ({ side, index })));
  const wordStyle = (/** @type {WordPlace} */ word) => styleOf(data, drawn, word);
  const activeSide = data.active?.side;
  const dots = activeSide ? tiedDots(drawn, layout, activeSide === "source" ? "target" : "source") : NO_DOTS;
  const shapes = (/** @type {boolean} */ dark) =>
    drawn.map((ribbon) => {
      const above = ribbonEnd(ribbon, layout, "source", activeSide === "source" ? NO_DOTS : dots);
      const below = ribbonEnd(ribbon, layout, "target", activeSide === "target" ? NO_DOTS : dots);
      return ribbonShapes(ribbon, above, below, activeSide, dark);
    });
  return {
    title: data.title,
    width: layout.width,
    height: layout.height,
    wordStyle,
    ribbons: shapes,
    draw: (dark) => [shapes(dark), words.map((word) => wordShapes(data, layout, word, wordStyle(word), dark))],
    hit: (x, y) => words.find(({ side, index }) => isInside(layout[side][index], x, y)) ?? null,
    step: (word, key) => wordByKey(data, word, key),
    cursor: ({ side, index }, dark) => {
      const { left: x, top: y, width, height } = layout[side][index];
      return h("rect", { x, y, width, height, rx: 8, fill: "none", stroke: palette(dark).cursor, "stroke-width": 2 });
    },
    describe: ({ side, index }) => data[side][index],
  };
}

/**
 * @param {Box} box
 * @param {number} x
 * @param {number} y
 */
function isInside({ left, top, width, height }, x, y) {
  return x >= left && y >= top && x <= left + width && y <= top + height;
}

/**
 * Ribbons of the active word, or faint ones for all links; those are left out where words wrap and cannot be followed.
 * @param {RibbonsData} data
 * @param {WordLayout} layout
 * @returns {Ribbon[]}
 */
export function ribbonsOf({ active, weights, links, source, target }, layout) {
  const isMeasured = layout.source.length === source.length && layout.target.length === target.length;
  if (!weights || !isMeasured || !source.length || !target.length) return [];
  if (!active) {
    const isWrapped = SIDES.some((side) => layout[side].some((box) => !isBesideOther(layout, side, box)));
    return isWrapped
      ? []
      : links.map(([from, to]) => ({ from, to, weight: weights[to]?.[from] ?? 0, tie: 0, isFaint: true }));
  }
  const isTarget = active.side === "target";
  const others = (isTarget ? source : target).map((_, other) => ({
    from: isTarget ? other : active.index,
    to: isTarget ? active.index : other,
    weight: weightBetween(weights, active, other),
    tie: 0,
    isFaint: false,
  }));
  return withTies(
    others.filter(({ weight }) => weight > FAINTEST),
    layout,
    isTarget ? "source" : "target",
  );
}

/**
 * Ribbons that touch their word, and the strongest of the others, each tied to its word by a colour.
 * @param {Ribbon[]} all
 * @param {WordLayout} layout
 * @param {SideName} side the side of the words that are not active
 */
function withTies(all, layout, side) {
  const isTouching = (/** @type {Ribbon} */ ribbon) => isBesideOther(layout, side, layout[side][ribbon[ENDS[side]]]);
  const apart = all.filter((ribbon) => !isTouching(ribbon)).sort((first, second) => second.weight - first.weight);
  return [
    ...all.filter(isTouching),
    ...apart.slice(0, MOST_TIES).map((ribbon, rank) => ({ ...ribbon, tie: rank + 1 })),
  ];
}

/**
 * Whether a word is on the line next to the other side: the last line of the source, the first of the target.
 * @param {WordLayout} layout
 * @param {SideName} side
 * @param {Box} box
 */
function isBesideOther(layout, side, { top, height }) {
  const middle = top + height / 2;
  const edge = edgeOf(layout, side);
  return side === "source" ? middle > edge - height : middle < edge + height;
}

/**
 * The edge of a side's words that faces the other side.
 * @param {WordLayout} layout
 * @param {SideName} side
 */
function edgeOf(layout, side) {
  if (side === "source") return Math.max(...layout.source.map(({ top, height }) => top + height));
  return Math.min(...layout.target.map(({ top }) => top));
}

/**
 * Where a ribbon ends: at its word, or at the edge below or above the place of its word.
 * @param {Ribbon} ribbon
 * @param {WordLayout} layout
 * @param {SideName} side
 * @param {Map<number, number>} dots the x of tied words
 * @returns {RibbonEnd}
 */
function ribbonEnd(ribbon, layout, side, dots) {
  const index = ribbon[ENDS[side]];
  const box = layout[side][index];
  const isTouching = isBesideOther(layout, side, box);
  const gap = isTouching ? 0 : EDGE_GAP;
  const y = edgeOf(layout, side) + (side === "source" ? gap : -gap);
  return { x: dots.get(index) ?? middleOf(box), y, isTouching };
}

/**
 * The x of the dot of each tied word. Words of several lines can be at the same x: their dots are moved apart.
 * @param {Ribbon[]} drawn
 * @param {WordLayout} layout
 * @param {SideName} side
 * @returns {Map<number, number>}
 */
function tiedDots(drawn, layout, side) {
  const words = drawn.filter(({ tie }) => tie > 0).map((ribbon) => ribbon[ENDS[side]]);
  words.sort((first, second) => middleOf(layout[side][first]) - middleOf(layout[side][second]));
  let right = Number.NEGATIVE_INFINITY;
  const fromLeft = words.map((index) => {
    right = Math.max(middleOf(layout[side][index]), right + DOT_DISTANCE);
    return right;
  });
  const excess = Math.max(0, right - layout.width);
  return new Map(words.map((index, rank) => [index, fromLeft[rank] - excess]));
}

/** @param {Box} box */
function middleOf({ left, width }) {
  return left + width / 2;
}

/**
 * @param {Ribbon} ribbon
 * @param {RibbonEnd} above
 * @param {RibbonEnd} below
 * @param {SideName | undefined} activeSide
 * @param {boolean} dark
 */
function ribbonShapes({ weight, tie, isFaint }, above, below, activeSide, dark) {
  const bend = Math.max(18, (below.y - above.y) * 0.5);
  const dot = (/** @type {RibbonEnd} */ { x, y, isTouching }, /** @type {SideName} */ side) =>
    !isTouching && h("circle", { cx: x, cy: y, r: 4, fill: series(side === activeSide ? 0 : tie, dark).colour });
  const line = {
    stroke: isFaint ? palette(dark).faint : series(tie, dark).colour,
    "stroke-width": isFaint ? 1.5 : 1.5 + 12 * weight,
    "stroke-opacity": isFaint ? 0.38 : 0.25 + 0.6 * weight,
  };
  const d = `M${above.x} ${above.y}C${above.x} ${above.y + bend} ${below.x} ${below.y - bend} ${below.x} ${below.y}`;
  return [
    h("path", { d, fill: "none", "stroke-linecap": "round", ...line }),
    dot(above, "source"),
    dot(below, "target"),
  ];
}

/**
 * @param {RibbonsData} data
 * @param {Ribbon[]} drawn
 * @param {WordPlace} word
 * @returns {WordStyle}
 */
function styleOf({ active, weights, gold }, drawn, { side, index }) {
  if (!active || active.side === side) return { light: null, tie: 0, isGold: false };
  const [source, target] = side === "source" ? [index, active.index] : [active.index, index];
  return {
    light: weights && weightBetween(weights, active, index),
    tie: drawn.find((ribbon) => ribbon[ENDS[side]] === index)?.tie ?? 0,
    isGold: gold?.some((link) => link[0] === source && link[1] === target) ?? false,
  };
}

/**
 * A word as it is saved; on the page it is a button.
 * @param {RibbonsData} data
 * @param {WordLayout} layout
 * @param {WordPlace} word
 * @param {WordStyle} style
 * @param {boolean} dark
 */
function wordShapes(data, layout, { side, index }, { light, tie, isGold }, dark) {
  const { left: x, top: y, width, height } = layout[side][index];
  const { paper, ink, gold } = palette(dark);
  const text = {
    x: x + width / 2,
    y: y + height / 2,
    "text-anchor": "middle",
    "dominant-baseline": "central",
    fill: light === null ? ink : inkOn(light, dark),
    "font-family": FONT,
    "font-size": layout.fontSize,
    ...(isGold && { "text-decoration": "underline", "text-decoration-color": gold }),
  };
  return [
    h("rect", { x, y, width, height, rx: 8, fill: light === null ? paper : shade(light, dark) }),
    h("text", text, data[side][index]),
    tie > 0 &&
      h("rect", {
        x: x + 4,
        y: y + height - TIE_HEIGHT,
        width: width - 8,
        height: TIE_HEIGHT,
        fill: series(tie, dark).colour,
      }),
  ];
}

/**
 * Left and right go along a sentence, up and down to the other one.
 * @param {RibbonsData} data
 * @param {WordPlace | null} word
 * @param {string} key
 * @returns {WordPlace | undefined}
 */
function wordByKey(data, word, key) {
  const { side, index } = word ?? { side: /** @type {SideName} */ ("source"), index: 0 };
  const other = side === "source" ? "target" : "source";
  const last = data[side].length - 1;
  /** @type {Record<string, WordPlace>} */
  const moves = {
    ArrowLeft: { side, index: Math.max(0, index - 1) },
    ArrowRight: { side, index: Math.min(last, index + 1) },
    Home: { side, index: 0 },
    End: { side, index: last },
  };
  if (data[other].length)
    moves[side === "source" ? "ArrowDown" : "ArrowUp"] = {
      side: other,
      index: Math.min(index, data[other].length - 1),
    };
  return Object.hasOwn(moves, key) ? moves[key] : undefined;
}
