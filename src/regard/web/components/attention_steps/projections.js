// @ts-check
/** The first step: from x to the query, and from each token's x to its key and value. */

import { t } from "../../core/i18n.js";
import { h } from "../../core/ui.js";
import { rotaryAngle } from "../../math/attention.js";
import { EXAMPLE } from "../../math/worked_example.js";
import { Segmented } from "../controls.js";
import { ATTENTION_FORMULAS } from "../formula.js";
import { MatrixTable } from "../number_table.js";
import { numberText } from "../number_text.js";
import { VectorList } from "../vector_bar_list.js";
import { DimensionField, matrixTerms, subscript, timesParts, WrittenSum } from "../written_sum.js";
import { isRecurrent, keyLabel, queryLabel, StepCard } from "./step_card.js";

/** @import { CardProps, Step } from "./step_card.js" */

const FEATURES = /** @type {const} */ ([
  "inside.feature_1",
  "inside.feature_2",
  "inside.feature_3",
  "inside.feature_4",
]);
export const MEANINGS = /** @type {const} */ (["inside.meaning_1", "inside.meaning_2", "inside.meaning_3"]);
const WAVES = { cos: Math.cos, sin: Math.sin, "−sin": (/** @type {number} */ angle) => -Math.sin(angle) };

/**
 * Whole matrices in the worked example; bars and one sum written out for a model; an RNN has no matrices here.
 * @param {CardProps} props
 */
export function ProjectionCard({ step, number }) {
  const { detail, work } = step;
  if (detail.layer.name === "example") return h(ExampleProjections, { step, number });
  if (!detail.query_weight) return h(StateCard, { step, number });
  const text = t(detail.layer.role === "image-cross" ? "inside.projections_picture" : "inside.projections_text", {
    width: detail.x.length,
    head: work.query.length,
  });
  const formula = detail.query_bias ? ATTENTION_FORMULAS.biasedProjections() : ATTENTION_FORMULAS.projections();
  return h(
    StepCard,
    { number, title: t("inside.projections_title"), formula, text },
    h(ProjectedVectors, { step }),
    detail.is_rotary && h("p", { class: "explain" }, t("inside.rotary")),
    h(WrittenProjection, { step }),
  );
}

/**
 * No matrices: in an RNN the states are query, keys and values; a file may have left a large model's matrices out.
 * @param {CardProps} props
 */
function StateCard({ step, number }) {
  const { detail } = step;
  const stateText = detail.layer.role === "image-cross" ? t("inside.states_picture") : t("inside.states_text");
  const head = isRecurrent(detail)
    ? { title: t("inside.states_title"), formula: ATTENTION_FORMULAS.states(), text: stateText }
    : {
        title: t("inside.projections_title"),
        formula: ATTENTION_FORMULAS.projections(),
        text: t("inside.matrices_left_out"),
      };
  return h(StepCard, { number, ...head }, h(ProjectedVectors, { step }));
}

/** @param {{ step: Step }} props */
function ProjectedVectors({ step }) {
  const { detail, work, choice } = step;
  const [query, key] = [queryLabel(step), keyLabel(step)];
  const isProjected = Boolean(detail.query_weight);
  const rows = [
    isProjected && { letter: "x", token: query, values: detail.x },
    { letter: "q", token: query, values: work.query },
    isProjected && { letter: "x", token: key, values: detail.key_inputs[choice.key] },
    { letter: "k", token: key, values: work.keys[choice.key] },
    { letter: "v", token: key, values: work.values[choice.key] },
  ];
  return h(VectorList, { rows });
}

/**
 * One number of q, k or v as a sum; with rotary positions also its rotation.
 * @param {{ step: Step }} props
 */
function WrittenProjection({ step }) {
  const { detail, choice, onChange } = step;
  const { weight, bias, x, result, position } = chosenProjection(step);
  const letter = choice.vector;
  const dimension = Math.min(choice.number, result.length - 1);
  return h(
    "div",
    { class: "stack" },
    h(
      "div",
      { class: "controls" },
      h(Segmented, {
        label: t("inside.which_vector"),
        options: [
          ["q", "q"],
          ["k", "k"],
          ["v", "v"],
        ],
        value: letter,
        onChange: (/** @type {string} */ vector) => onChange({ vector }),
      }),
      h(DimensionField, {
        label: t("inside.which_number"),
        count: result.length,
        chosen: dimension,
        onChoose: (/** @type {number} */ index) => onChange({ number: String(index) }),
      }),
    ),
    weight &&
      h(WrittenSum, {
        terms: matrixTerms({ weight, row: dimension, vector: x, letter: "x", bias }),
        total: result[dimension],
        label: `${letter}${subscript(dimension + 1)}`,
      }),
    detail.is_rotary &&
      position !== null &&
      h(WrittenRotation, { letter, vector: result, dimension, position, base: detail.rotary_base }),
  );
}

/** @param {Step} step */
function chosenProjection({ detail, work, choice }) {
  const { key, vector } = choice;
  const { query_weight, query_bias, key_weight, key_bias, value_weight, value_bias, query_index } = detail;
  const x = detail.key_inputs[key];
  const { query, keys } = work.unrotated;
  if (vector === "q")
    return { weight: query_weight, bias: query_bias, x: detail.x, result: query, position: query_index };
  if (vector === "k") return { weight: key_weight, bias: key_bias, x, result: keys[key], position: key };
  return { weight: value_weight, bias: value_bias, x, result: work.values[key], position: null };
}

/**
 * The rotation of the pair that a number of a rotary query or key belongs to.
 * @param {{ letter: string, vector: number[], dimension: number, position: number, base: number }} props
 */
function WrittenRotation({ letter, vector, dimension, position, base }) {
  const half = vector.length / 2;
  const pair = dimension % half;
  const angle = rotaryAngle(position, pair, vector.length, base);
  const [first, second] = [`${letter}${subscript(pair + 1)}`, `${letter}${subscript(half + pair + 1)}`];
  /** @type {(keyof typeof WAVES)[]} */
  const waves = dimension < half ? ["cos", "−sin"] : ["sin", "cos"];
  const terms = [
    rotationTerm(first, vector[pair], waves[0], angle),
    rotationTerm(second, vector[half + pair], waves[1], angle),
  ];
  const explanation = { position, first, second, pair, width: vector.length, base, angle: numberText(angle) };
  return h(
    "div",
    { class: "stack" },
    h("p", { class: "explain turn" }, t("inside.turn", explanation)),
    h(WrittenSum, {
      terms,
      total: terms[0].value + terms[1].value,
      label: t("inside.turned", { number: `${letter}${subscript(dimension + 1)}` }),
    }),
  );
}

/**
 * @param {string} label
 * @param {number} value
 * @param {keyof typeof WAVES} wave
 * @param {number} angle
 */
function rotationTerm(label, value, wave, angle) {
  const factor = WAVES[wave](angle);
  return { label: `${label} × ${wave} θ`, parts: timesParts(value, factor), value: value * factor };
}

/**
 * The worked example in full: every matrix, every vector.
 * @param {CardProps} props
 */
function ExampleProjections({ step, number }) {
  const { detail, work, choice, onChange } = step;
  const { queryWeight, keyWeight, valueWeight } = EXAMPLE;
  const tokens = detail.key_labels;
  const dimension = Math.min(choice.number, work.query.length - 1);
  const query = queryLabel(step);
  const matrix = (/** @type {string} */ letter) => ["W", h("sub", null, letter)];
  return h(
    StepCard,
    {
      number,
      title: t("inside.projections_title"),
      formula: ATTENTION_FORMULAS.projections(),
      text: t("inside.example_projections"),
    },
    h(
      "div",
      { class: "side-by-side" },
      h(
        "div",
        { class: "matrices" },
        h(MatrixTable, {
          rows: detail.key_inputs,
          caption: t("inside.example_x"),
          rowLabels: tokens,
          columnLabels: FEATURES.map((key) => t(key)),
        }),
      ),
      h(
        "div",
        { class: "stack" },
        h(DimensionField, {
          label: t("inside.which_q"),
          count: work.query.length,
          chosen: dimension,
          onChoose: (/** @type {number} */ index) => onChange({ number: String(index) }),
        }),
        h(WrittenSum, {
          terms: matrixTerms({ weight: queryWeight, row: dimension, vector: detail.x, letter: "x" }),
          total: work.query[dimension],
          label: `q${subscript(dimension + 1)}`,
        }),
      ),
    ),
    h(
      "div",
      { class: "matrices" },
      h(MatrixTable, { rows: queryWeight, caption: matrix("Q") }),
      h(MatrixTable, { rows: [work.query], caption: [`q(${query}) = `, matrix("Q"), ` x(${query})`] }),
      h(MatrixTable, { rows: keyWeight, caption: matrix("K") }),
      h(MatrixTable, { rows: work.keys, caption: ["k = ", matrix("K"), " x"], rowLabels: tokens }),
      h(MatrixTable, { rows: valueWeight, caption: matrix("V") }),
      h(MatrixTable, {
        rows: work.values,
        caption: ["v = ", matrix("V"), " x"],
        rowLabels: tokens,
        columnLabels: MEANINGS.map((key) => t(key)),
      }),
    ),
  );
}
