/**
 * A line plot: curves over two axes, with a cursor that reads their values by mouse and by keyboard.
 *
 * Lines differ in colour, dash and marker, so that they are told apart in print and by colour-blind readers.
 */

import { clear, h, svg } from "./make.js";
import { isDark, onTheme, paper, series } from "./colour.js";
import { linesCursor } from "./lines_cursor.js";
import { linearScale, rangeOf, readableNumber, roundTicks, thinnedPoints } from "./scales.js";
import { t } from "./text.js";
import { widthOfText, whenWidthChanges } from "./fitting.js";

const LINES_FILE_WIDTH = 760;
const LINES_FONT_SIZE = 12;
const LINES_LEGEND_ROW = 22;
const MARKED_AT_MOST = 24; // points; a longer curve is drawn without markers
const MARKER_SHAPES = [ // around the origin: circle, square, triangle, diamond, cross
  "M-3.5,0a3.5,3.5 0 1,0 7,0a3.5,3.5 0 1,0 -7,0z",
  "M-3.2,-3.2h6.4v6.4h-6.4z",
  "M0,-4.4L4.2,3.2H-4.2z",
  "M0,-4.6L4.6,0L0,4.6L-4.6,0z",
  "M-4,-1.3h2.7v-2.7h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7z",
];

/**
 * A plot of `series` [{name, points: [[x, y], ...], band?: [[x, low, high], ...]}]; `xTicks` [[x, word], ...] name places;
 * `xHeld` is a list of values, and `yFrom` a value, that the axes must hold (yFrom: 0 unless given; null: none); `hint` is read out while the cursor
 * is away, or the values at `resting`; `onPoint(x)` is told of a click. Returns {node, update(changed), toSvg(), stop()}.
 */
export function lines(options) {
  const asked = { height: 250, yFrom: 0, xTicks: null, xHeld: [], ...options };
  const canvas = h("div", { class: "lines-picture" });
  const cursor = linesCursor(() => asked);
  const node = h("div", { class: "lines" }, cursor.wrap(canvas), cursor.readOut);
  const draw = () => {
    const drawn = drawPlot(asked, canvas.clientWidth || LINES_FILE_WIDTH, isDark());
    clear(canvas, drawn.picture);
    cursor.over(drawn);
  };
  const stops = [whenWidthChanges(canvas, draw), onTheme(draw)];
  return {
    node,
    update(changed) {
      Object.assign(asked, changed);
      if (canvas.clientWidth) draw();
    },
    toSvg: () => drawPlot(asked, LINES_FILE_WIDTH, false).picture,
    stop: () => stops.forEach((stop) => stop()),
  };
}

function drawPlot(asked, width, dark) {
  const colours = paper(dark);
  const legend = legendRows(asked.series, width);
  const ranges = plotRanges(asked);
  const frame = frameOf(asked, { width, legendCount: legend.length, ranges });
  const scales = plotScales(asked, frame, ranges);
  const picture = svg(
    "svg",
    { width, height: frame.height, viewBox: `0 0 ${width} ${frame.height}`, role: "img", "aria-label": asked.title ?? asked.yLabel,
      "font-family": "system-ui, sans-serif", "font-size": LINES_FONT_SIZE },
    svg("rect", { width, height: frame.height, fill: colours.paper }),
    verticalAxis(asked, frame, scales, colours),
    horizontalAxis(asked, frame, scales, colours),
    isBlank(asked) && blankNote(frame, colours),
    asked.series.map((one, index) => curveOf(one, index, scales, dark)),
    legend.flatMap((row, line) => row.map((item) => legendItem(item, line, colours, dark))),
  );
  return { picture, frame, scales, colours, dark };
}

function isBlank({ series: given }) {
  return given.every((one) => !one.points.length);
}

function blankNote(frame, colours) {
  const place = { x: (frame.left + frame.right) / 2, y: (frame.top + frame.bottom) / 2, "text-anchor": "middle", fill: colours.faint };
  return svg("text", place, t("lines.none"));
}

/** What the axes must hold: [left, right] and the round numbers of the vertical one. */
function plotRanges(asked) {
  const shown = asked.series.flatMap((one) => one.points);
  const bands = asked.series.flatMap((one) => one.band ?? []);
  const named = asked.xTicks?.map(([x]) => x) ?? [];
  const [left, right] = rangeOf([...shown.map(([x]) => x), ...named, ...asked.xHeld]) ?? [0, 1];
  const room = asked.xTicks || left === right ? (right - left) * 0.06 || 0.5 : 0;
  const values = [...shown.map(([, y]) => y), ...bands.flatMap(([, low, high]) => [low, high])];
  const [low, high] = rangeOf(asked.yFrom === null ? values : [...values, asked.yFrom]) ?? [0, 1];
  return { x: [left - room, right + room], yTicks: roundTicks(low, high, asked.height < 190 ? 4 : 6) };
}

function frameOf(asked, { width, legendCount, ranges }) {
  const top = 12 + legendCount * LINES_LEGEND_ROW;
  const left = 34 + Math.max(...ranges.yTicks.map((value) => widthOfText(readableNumber(value), LINES_FONT_SIZE)));
  return { left, right: width - 24, top, bottom: top + asked.height - 60, height: top + asked.height - 12, width };
}

function plotScales(asked, frame, { x: [left, right], yTicks }) {
  const most = Math.max(3, Math.floor((frame.right - frame.left) / 64));
  return {
    yTicks,
    x: linearScale(left, right, frame.left, frame.right),
    y: linearScale(yTicks[0], yTicks.at(-1), frame.bottom, frame.top),
    xTicks: asked.xTicks ?? roundTicks(left, right, most + 1).filter((x) => x >= left && x <= right).map((x) => [x, readableNumber(x)]),
  };
}

function verticalAxis(asked, frame, scales, colours) {
  const middle = (frame.top + frame.bottom) / 2;
  const rules = scales.yTicks.map((value) => [
    svg("path", { d: `M${frame.left},${scales.y(value)}H${frame.right}`, stroke: colours.line }),
    svg("text", { x: frame.left - 8, y: scales.y(value) + 4, "text-anchor": "end", fill: colours.faint }, readableNumber(value)),
  ]);
  const label = { x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})`, fill: colours.faint };
  return [!isBlank(asked) && rules, svg("text", label, asked.yLabel ?? "")];
}

function horizontalAxis(asked, frame, scales, colours) {
  const ticks = scales.xTicks.map(([x, word]) => [
    svg("path", { d: `M${scales.x(x)},${frame.bottom}v4`, stroke: colours.faint }),
    svg("text", { x: scales.x(x), y: frame.bottom + 18, "text-anchor": "middle", fill: colours.faint }, word),
  ]);
  const label = { x: (frame.left + frame.right) / 2, y: frame.bottom + 40, "text-anchor": "middle", fill: colours.faint };
  const ground = svg("path", { d: `M${frame.left},${frame.bottom}H${frame.right}`, stroke: colours.faint });
  return [ground, ticks, svg("text", label, asked.xLabel ?? "")];
}

function curveOf(one, index, scales, dark) {
  const { colour, dash } = series(one.style ?? index, dark);
  const points = one.points.filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y));
  const place = ([x, y]) => `${scales.x(x).toFixed(1)},${scales.y(y).toFixed(1)}`;
  const path = thinnedPoints(points).map(place).join("L");
  return [
    one.band && svg("path", { d: bandPath(one.band, place), fill: colour, opacity: 0.18 }),
    path && svg("path", { d: `M${path}`, fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": dash || null,
      "stroke-linejoin": "round" }),
    points.length <= MARKED_AT_MOST && points.map((point) => lineMarker(one.style ?? index, colour, place(point))),
  ];
}

function bandPath(band, place) {
  const upper = band.map(([x, , high]) => place([x, high]));
  const lower = band.map(([x, low]) => place([x, low])).reverse();
  return `M${[...upper, ...lower].join("L")}Z`;
}

function lineMarker(index, colour, place) {
  return svg("path", { d: MARKER_SHAPES[index % MARKER_SHAPES.length], transform: `translate(${place})`, fill: colour });
}

/** The legend's items in rows that fit the width: [{index, name, x}]. */
function legendRows(given, width) {
  if (given.length < 2) return [];
  const rows = [[]];
  let x = 12;
  given.forEach((one, index) => {
    const taken = 44 + widthOfText(one.name, LINES_FONT_SIZE);
    if (x + taken > width && rows.at(-1).length) {
      rows.push([]);
      x = 12;
    }
    rows.at(-1).push({ index: one.style ?? index, name: one.name, x });
    x += taken;
  });
  return rows;
}

function legendItem({ index, name, x }, row, colours, dark) {
  const { colour, dash } = series(index, dark);
  const y = 14 + row * LINES_LEGEND_ROW;
  return [
    svg("path", { d: `M${x},${y}h24`, stroke: colour, "stroke-width": 2, "stroke-dasharray": dash || null }),
    lineMarker(index, colour, `${x + 12},${y}`),
    svg("text", { x: x + 30, y: y + 4, fill: colours.ink }, name),
  ];
}
