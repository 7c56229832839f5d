// @ts-check
/** A line chart. Lines differ in colour, dash and marker, so that print and colour-blind readers can distinguish them. */

import { t } from "../core/i18n.js";
import { h } from "../core/ui.js";
import { xAxis, yAxis } from "./axes.js";
import { palette, series as seriesStyle } from "./colour.js";
import { linearScale, nearestIndex, rangeOf, readableNumber, roundTicks, thinnedPoints } from "./scales.js";
import { FONT, textWidth } from "./text_width.js";

/** @import { Chart } from "./chart.js" */
/** @import { Point } from "./scales.js" */
/** @typedef {{ name: string, points: Point[], band?: [x: number, low: number, high: number][], style?: number }} Series */

/**
 * @typedef {object} LinesData
 * @property {Series[]} series
 * @property {string} title
 * @property {string} xLabel
 * @property {string} yLabel
 * @property {[x: number, label: string][] | null} [xTicks] places with names
 * @property {number[]} [xHeld] values that the horizontal axis must hold
 */

const FONT_SIZE = 12;
const LEGEND_ROW = 22;
const MARKED_AT_MOST = 24; // points; a longer curve is drawn without markers
const NEAR_ENOUGH = 0.03; // of the axis: a point farther from the cursor is not read out
const MARKERS = [
  // around the origin: circle, square, triangle, diamond, cross
  "M-3.5,0a3.5,3.5 0 1,0 7,0a3.5,3.5 0 1,0 -7,0z",
  "M-3.2,-3.2h6.4v6.4h-6.4z",
  "M0,-4.4L4.2,3.2H-4.2z",
  "M0,-4.6L4.6,0L0,4.6L-4.6,0z",
  "M-4,-1.3h2.7v-2.7h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7z",
];

/**
 * @param {LinesData} data
 * @param {{ width: number, height?: number }} size
 * @returns {Chart<number>}
 */
export function lines({ series, title, xLabel, yLabel, xTicks = null, xHeld = [] }, { width, height = 250 }) {
  const points = series.flatMap((one) => one.points);
  const places = [...new Set(xTicks?.map(([x]) => x) ?? points.map(([x]) => x))].sort((one, other) => one - other);
  const [low, high] = rangeOf([...places, ...xHeld]) ?? [0, 1];
  const room = xTicks || low === high ? (high - low) * 0.06 || 0.5 : 0;
  const values = [
    ...points.map(([, y]) => y),
    ...series.flatMap((one) => one.band ?? []).flatMap(([, least, most]) => [least, most]),
  ];
  const [bottomValue, topValue] = rangeOf([0, ...values]) ?? [0, 1];
  const yValues = roundTicks(bottomValue, topValue, height < 190 ? 4 : 6);
  const legend = legendRows(series, width);
  const top = 12 + legend.length * LEGEND_ROW;
  const left = 34 + Math.max(...yValues.map((value) => textWidth(readableNumber(value), FONT_SIZE)));
  const frame = { left, right: width - 24, top, bottom: top + height - 60 };
  const x = linearScale(low - room, high + room, frame.left, frame.right);
  const y = linearScale(yValues[0], yValues[yValues.length - 1], frame.bottom, frame.top);
  const shownTicks =
    xTicks ??
    roundTicks(low, high, Math.max(3, Math.floor((frame.right - frame.left) / 64)) + 1)
      .filter((at) => at >= low && at <= high)
      .map((at) => /** @type {[number, string]} */ ([at, readableNumber(at)]));
  const place = (/** @type {Point} */ [px, py]) => `${x(px).toFixed(1)},${y(py).toFixed(1)}`;
  const styleOf = (/** @type {number} */ index) => series[index].style ?? index;
  const isEmpty = points.length === 0;

  /** For each line, its point at the cursor. */
  const pointsAt = (/** @type {number} */ at) => {
    const reach = ((places.at(-1) ?? 0) - places[0]) * NEAR_ENOUGH;
    return series.map(({ points: own }) => {
      const point = own.length
        ? own[
            nearestIndex(
              own.map(([px]) => px),
              at,
            )
          ]
        : null;
      return point && Math.abs(point[0] - at) <= reach ? point : null;
    });
  };

  const curve = (
    /** @type {Series} */ { points: given, band },
    /** @type {number} */ index,
    /** @type {boolean} */ dark,
  ) => {
    const { colour, dash } = seriesStyle(styleOf(index), dark);
    const own = given.filter(([px, py]) => Number.isFinite(px) && Number.isFinite(py));
    const edge = band && [
      ...band.map(([px, , most]) => place([px, most])),
      ...band.map(([px, least]) => place([px, least])).reverse(),
    ];
    return [
      edge && h("path", { d: `M${edge.join("L")}Z`, fill: colour, opacity: 0.18 }),
      own.length > 0 &&
        h("path", {
          d: `M${thinnedPoints(own).map(place).join("L")}`,
          fill: "none",
          stroke: colour,
          "stroke-width": 2,
          "stroke-dasharray": dash || undefined,
          "stroke-linejoin": "round",
        }),
      own.length <= MARKED_AT_MOST && own.map((point) => marker(styleOf(index), place(point), dark)),
    ];
  };

  return {
    kind: "lines",
    title,
    width,
    height: top + height - 12,
    draw: (dark) => {
      const { ink, faint } = palette(dark);
      return h(
        "g",
        { "font-family": FONT, "font-size": FONT_SIZE },
        yAxis(
          frame,
          isEmpty ? [] : yValues.map((value) => ({ at: y(value), label: readableNumber(value) })),
          yLabel,
          dark,
          true,
        ),
        h("path", { d: `M${frame.left},${frame.bottom}H${frame.right}`, stroke: faint }),
        shownTicks.map(([at]) => h("path", { d: `M${x(at)},${frame.bottom}v4`, stroke: faint })),
        xAxis(
          frame,
          shownTicks.map(([at, label]) => ({ at: x(at), label })),
          xLabel,
          dark,
        ),
        isEmpty &&
          h(
            "text",
            {
              x: (frame.left + frame.right) / 2,
              y: (frame.top + frame.bottom) / 2,
              "text-anchor": "middle",
              fill: faint,
            },
            t("lines.none"),
          ),
        series.map((one, index) => curve(one, index, dark)),
        legend.flatMap((row, line) =>
          row.map(({ index, name, at }) => {
            const { colour, dash } = seriesStyle(index, dark);
            const middle = 14 + line * LEGEND_ROW;
            return [
              h("path", {
                d: `M${at},${middle}h24`,
                stroke: colour,
                "stroke-width": 2,
                "stroke-dasharray": dash || undefined,
              }),
              marker(index, `${at + 12},${middle}`, dark),
              h("text", { x: at + 30, y: middle + 4, fill: ink }, name),
            ];
          }),
        ),
      );
    },
    hit: (px) => (places.length ? places[nearestIndex(places.map(x), px)] : null),
    step: (at, key) => {
      const [now, last] = [at === null ? -1 : nearestIndex(places, at), places.length - 1];
      const to = { ArrowRight: now + 1, ArrowLeft: at === null ? last : now - 1, Home: 0, End: last }[key];
      return to === undefined || last < 0 ? undefined : places[Math.min(last, Math.max(0, to))];
    },
    cursor: (at, dark) => [
      h("path", {
        d: `M${x(at)},${frame.top}V${frame.bottom}`,
        stroke: palette(dark).faint,
        "stroke-dasharray": "3 3",
      }),
      pointsAt(at).map(
        (point) =>
          point &&
          h("circle", {
            cx: x(point[0]),
            cy: y(point[1]),
            r: 5,
            fill: "none",
            stroke: palette(dark).cursor,
            "stroke-width": 1.5,
          }),
      ),
    ],
    describe: (at) => {
      const told = pointsAt(at).flatMap((point, index) =>
        point ? [`${series[index].name} ${readableNumber(point[1])}`] : [],
      );
      return `${xLabel} ${xTicks?.find(([one]) => one === at)?.[1] ?? readableNumber(at)}: ${told.join(" · ")}`;
    },
    table: () => ({
      header: [xLabel, ...series.map(({ name }) => name)],
      rows: places.map((at) => [
        xTicks?.find(([tick]) => tick === at)?.[1] ?? at,
        ...series.map(({ points: own }) => own.find(([px]) => px === at)?.[1] ?? ""),
      ]),
    }),
  };
}

/**
 * @param {number} index
 * @param {string} at
 * @param {boolean} dark
 */
function marker(index, at, dark) {
  return h("path", {
    d: MARKERS[index % MARKERS.length],
    transform: `translate(${at})`,
    fill: seriesStyle(index, dark).colour,
  });
}

/**
 * The legend's items in rows that fit the width.
 * @param {Series[]} series
 * @param {number} width
 */
function legendRows(series, width) {
  if (series.length < 2) return [];
  const rows = [/** @type {{ index: number, name: string, at: number }[]} */ ([])];
  let at = 12;
  series.forEach(({ name, style }, index) => {
    const taken = 44 + textWidth(name, FONT_SIZE);
    if (at + taken > width && rows[rows.length - 1].length) {
      rows.push([]);
      at = 12;
    }
    rows[rows.length - 1].push({ index: style ?? index, name, at });
    at += taken;
  });
  return rows;
}
