/** An encoding as a map, as curves and as distances, and the criteria measured on it. */

import { ColourLegend } from "../../charts/colour_legend.js";
import { lines } from "../../charts/lines.js";
import { matrixHeatmap } from "../../charts/matrix_heatmap.js";
import { Plot } from "../../charts/plot.js";
import { rangeOf, readableNumber } from "../../charts/scales.js";
import { Card } from "../../components/layout.js";
import { language, t } from "../../core/i18n.js";
import { useWidth } from "../../core/query.js";
import { h, useEffect, useMemo, useState } from "../../core/ui.js";
import { distancesByOffset, distanceTable, measureCriteria } from "../../math/positions.js";
import { EncodingCriteria } from "./encoding_criteria.js";

/** @import { Chart } from "../../charts/chart.js" */
/** @import { ComponentChildren } from "../../core/ui.js" */
/** @import { Encoding, MakeEncoding } from "../../math/positions.js" */
/** @import { Criteria } from "./encoding_criteria.js" */

const MEASURE_DELAY = 60; // ms; a slider that moves measures nothing
const TALL = 300; // pixels of the square chart
/** What the map looks like: how sines and cosines are arranged, or the kind of an encoding that has none. */
const MAP_TEXTS = /** @type {const} */ ({
  interleaved: "positions.map_why_interleaved",
  halves: "positions.map_why_halves",
  learned: "positions.map_why_learned",
  count: "positions.map_why_count",
  fraction: "positions.map_why_fraction",
  random: "positions.map_why_random",
});

/** @typedef {keyof typeof MAP_TEXTS} Shape */

/** @param {{ make: MakeEncoding, encoding: Encoding, trained: number | null, shape: Shape }} props */
export function EncodingCharts({ make, encoding, trained, shape }) {
  const distances = useMemo(() => distanceTable(encoding), [encoding]);
  const criteria = useCriteria(make, encoding, distances, trained);
  const [low, high] = rangeOf(encoding.values) ?? [0, 1];
  const strength = { twoSided: low < 0, most: Math.max(-low, high) || 1 };
  const distanceStrength = { twoSided: false, most: rangeOf(distances)?.[1] || 1 };
  const isWavy = shape === "interleaved" || shape === "halves";
  const deps = [encoding, trained, language.value];
  return [
    h(
      Card,
      { title: t("positions.criteria"), explanation: t("positions.criteria_hint") },
      criteria && h(EncodingCriteria, { criteria }),
    ),
    h(
      "div",
      { class: "pairs" },
      h(ChartCard, {
        draw: (width) => mapChart(encoding, trained, strength, width),
        deps,
        title: t("positions.map"),
        explanation: t(MAP_TEXTS[shape]),
        hint: t("positions.map_hint"),
        beside: h(ColourLegend, strength),
      }),
      h(ChartCard, {
        draw: (width) => curvesChart(encoding, width),
        deps,
        title: t("positions.curves"),
        explanation: t(isWavy ? "positions.curves_why_waves" : "positions.curves_why_other"),
      }),
      h(ChartCard, {
        draw: (width) => distancesChart(distances, encoding.length, distanceStrength, width),
        deps,
        title: t("positions.distances"),
        explanation: t("positions.distances_why"),
        hint: t("positions.distances_hint"),
        beside: h(ColourLegend, distanceStrength),
      }),
      h(ChartCard, {
        draw: (width) => offsetsChart(distances, encoding.length, width),
        deps,
        title: t("positions.offsets"),
        explanation: t("positions.offsets_why"),
      }),
    ),
  ];
}

/**
 * The criteria, measured a moment after the last change.
 * @param {MakeEncoding} make
 * @param {Encoding} encoding
 * @param {Float64Array} distances
 * @param {number | null} trained
 */
function useCriteria(make, encoding, distances, trained) {
  const [criteria, setCriteria] = useState(/** @type {Criteria | null} */ (null));
  useEffect(() => {
    const timer = setTimeout(() => setCriteria(measureCriteria(make, encoding, distances, trained)), MEASURE_DELAY);
    return () => clearTimeout(timer);
  }, [encoding]);
  return criteria;
}

/**
 * @param {object} props
 * @param {(width: number) => Chart<any>} props.draw
 * @param {unknown[]} props.deps what the drawing depends on besides its width
 * @param {string} props.title
 * @param {string} props.explanation
 * @param {string} [props.hint]
 * @param {ComponentChildren} [props.beside]
 */
function ChartCard({ draw, deps, title, explanation, hint, beside }) {
  const [box, width] = useWidth();
  const chart = useMemo(() => (width > 0 ? draw(width) : null), [width, ...deps]);
  return h(
    Card,
    { title, explanation, beside },
    h("div", { ref: box, class: "stack" }, chart && h(Plot, { chart, hint })),
  );
}

/**
 * @param {Encoding} encoding
 * @param {number | null} trained
 * @param {{ twoSided: boolean, most: number }} strength
 * @param {number} width
 */
function mapChart({ values, length, width: columns }, trained, strength, width) {
  const label = t("positions.untrained");
  const describe = (/** @type {number} */ row, /** @type {number} */ dimension, /** @type {number} */ value) => {
    const text = t("positions.cell", { position: row, dimension, value: value.toFixed(4) });
    return row >= (trained ?? Infinity) ? `${text} (${label})` : text;
  };
  const labels = {
    title: t("positions.map"),
    xLabel: t("positions.dimension_axis"),
    yLabel: t("positions.position"),
    shaded: trained === null ? null : { from: trained, label },
  };
  return matrixHeatmap({ values, rows: length, columns, ...labels, describe, ...strength }, { width });
}

/**
 * A few dimensions from fast to slow, as curves over the positions.
 * @param {Encoding} encoding
 * @param {number} width
 */
function curvesChart({ length, width: columns, values }, width) {
  const chosen = [...new Set([0, 1, Math.floor(columns / 4), Math.floor(columns / 2)])].filter((at) => at < columns);
  const series = chosen.map((dimension) => ({
    name: t("positions.dimension", { dimension }),
    points: Array.from(
      { length },
      (_, position) => /** @type {[number, number]} */ ([position, values[position * columns + dimension]]),
    ),
  }));
  const labels = { title: t("positions.curves"), xLabel: t("positions.position"), yLabel: t("positions.value") };
  return lines({ series, ...labels }, { width });
}

/**
 * @param {Float64Array} values
 * @param {number} length
 * @param {{ twoSided: boolean, most: number }} strength
 * @param {number} width
 */
function distancesChart(values, length, strength, width) {
  const describe = (/** @type {number} */ one, /** @type {number} */ other, /** @type {number} */ value) =>
    t("positions.distance_cell", { one, other, value: readableNumber(value) });
  const position = t("positions.position");
  const labels = { title: t("positions.distances"), xLabel: position, yLabel: position, isSquare: true };
  return matrixHeatmap(
    { values, rows: length, columns: length, ...labels, describe, ...strength },
    { width, height: TALL },
  );
}

/**
 * @param {Float64Array} distances
 * @param {number} length
 * @param {number} width
 */
function offsetsChart(distances, length, width) {
  const offsets = distancesByOffset(distances, length).filter(({ offset }) => offset < Math.max(2, length * 0.75));
  const name = t("positions.distance_name");
  const series = {
    name,
    points: offsets.map(({ offset, mean }) => /** @type {[number, number]} */ ([offset, mean])),
    band: offsets.map(({ offset, low, high }) => /** @type {[number, number, number]} */ ([offset, low, high])),
  };
  return lines(
    { series: [series], title: t("positions.offsets"), xLabel: t("positions.offset"), yLabel: name },
    { width },
  );
}
