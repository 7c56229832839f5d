/** The weights of one query as bars, one for each key; where something was switched off, a second bar shows what becomes of it. */

import { isDark, paper, series } from "./colour.js";
import { cutToWidth, whenWidthChanges, widthOfText } from "./fitting.js";
import { clear, h, svg } from "./make.js";
import { savingButtons } from "./saving.js";
import { t } from "./text.js";

const FONT_FAMILY = 'system-ui, "Noto Sans KR", "Noto Sans CJK KR", "Apple SD Gothic Neo", "Malgun Gothic", sans-serif';
const BAR_SIZES = { label: 14, bar: 15, pair: 11, gap: 11, number: 62, widest: 620, labels: 150 };

/** The picture with its buttons: keys, weights, and `other` weights or null; `names`: what the two kinds are called. */
export function weightsPicture({ title, keys, weights, other, names }) {
  const place = h("div", { class: "weights-picture" });
  const draw = (dark, width = BAR_SIZES.widest) => weightBars({ title, keys, weights, other, names, width }, dark);
  const show = () => clear(place, draw(isDark(), Math.min(BAR_SIZES.widest, place.clientWidth || BAR_SIZES.widest)));
  whenWidthChanges(place, show);
  return h(
    "figure",
    { class: "map" },
    place,
    savingButtons(() => draw(false), title),
  );
}

function weightBars({ title, keys, weights, other, names, width }, dark) {
  const colours = paper(dark);
  const left = Math.min(BAR_SIZES.labels, width / 3, 12 + Math.max(...keys.map((key) => widthOfText(key, BAR_SIZES.label))));
  const row = (other ? 2 * BAR_SIZES.pair + 2 : BAR_SIZES.bar) + BAR_SIZES.gap;
  const top = other ? 30 : 6;
  const height = top + row * keys.length;
  const room = width - left - BAR_SIZES.number;
  const draw = { colours, left, room, row, top, dark };
  return svg(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      class: "weight-bars",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": title,
    },
    svg("rect", { width, height, fill: colours.paper }),
    other && barLegend(names, draw),
    keys.map((key, index) => keyBars(draw, { key, index, weight: weights[index], other: other?.[index] })),
  );
}

function barLegend(names, { dark, colours, left, room }) {
  return names.map((label, index) => {
    const x = left + index * (room / 2);
    return [
      svg("rect", { x, y: 6, width: 12, height: 12, rx: 2, ...barStyle(index, dark) }),
      svg(
        "text",
        { x: x + 18, y: 12, "dominant-baseline": "central", fill: colours.ink, "font-family": FONT_FAMILY, "font-size": 13 },
        label,
      ),
    ];
  });
}

/** The second kind of bar is outlined and pale, so that it is told apart without colour. */
function barStyle(kind, dark) {
  const { colour } = series(kind, dark);
  return kind === 0 ? { fill: colour } : { fill: colour, "fill-opacity": 0.35, stroke: colour, "stroke-width": 1.5 };
}

function keyBars({ colours, left, room, row, top, dark }, { key, index, weight, other }) {
  const y = top + index * row;
  const bar = (value, kind, from, height) => [
    svg("rect", { x: left, y: from, width: Math.max(1, room * value), height, rx: 3, ...barStyle(kind, dark) }),
    svg(
      "text",
      {
        x: left + room * value + 7,
        y: from + height / 2,
        "dominant-baseline": "central",
        fill: colours.faint,
        "font-family": FONT_FAMILY,
        "font-size": 12,
      },
      value.toFixed(4),
    ),
  ];
  const middle = y + (row - BAR_SIZES.gap) / 2;
  return [
    svg(
      "text",
      {
        x: left - 8,
        y: middle,
        "text-anchor": "end",
        "dominant-baseline": "central",
        fill: colours.ink,
        "font-family": FONT_FAMILY,
        "font-size": BAR_SIZES.label,
      },
      cutToWidth(key, left - 10, BAR_SIZES.label),
    ),
    other === undefined
      ? bar(weight, 0, y, BAR_SIZES.bar)
      : [bar(weight, 0, y, BAR_SIZES.pair), bar(other, 1, y + BAR_SIZES.pair + 2, BAR_SIZES.pair)],
  ];
}

/** What the two kinds of bars are called. */
export function barNames() {
  return [t("inside.as_it_is"), t("inside.switched_off")];
}
