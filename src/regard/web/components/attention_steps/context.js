// @ts-check
/** The last steps of attention: the weighted sum of the values, and the output projection. */

import { t } from "../../core/i18n.js";
import { h } from "../../core/ui.js";
import { tokenLabel } from "../../math/tokens.js";
import { hidesResults, Result } from "../exercise.js";
import { ATTENTION_FORMULAS } from "../formula.js";
import { NumberList, TableScroll } from "../number_table.js";
import { numberSpan } from "../number_text.js";
import { VectorStrip } from "../vector_bar_list.js";
import { DimensionField, dotTerms, WrittenSum } from "../written_sum.js";
import { MEANINGS } from "./projections.js";
import { queryLabel, StepCard } from "./step_card.js";

/** @import { AttentionWork } from "../../math/attention.js" */
/** @import { CardProps, Step } from "./step_card.js" */

const SHORT_VECTOR = 4; // numbers: a shorter one is shown in full

/** @param {CardProps} props */
export function ContextCard({ step, number, isHalf }) {
  const { detail, work, choice, changed } = step;
  const dimension = Math.min(choice.context, work.context.length - 1);
  const text = t(detail.layer.role === "image-cross" ? "inside.context_picture" : "inside.context_text", {
    query: queryLabel(step),
  });
  return h(
    StepCard,
    { number, title: t("inside.context_title"), formula: ATTENTION_FORMULAS.context(), text, isHalf },
    detail.layer.name === "example"
      ? h(ExampleContext, { work, labels: detail.key_labels })
      : h(WrittenContext, { step, dimension }),
    changed &&
      h("p", { class: "other-line" }, t("inside.switched_off"), ": ", changedNumbers(changed.context, dimension)),
  );
}

/**
 * @param {number[]} context
 * @param {number} dimension
 */
function changedNumbers(context, dimension) {
  if (context.length >= SHORT_VECTOR) return numberSpan(context[dimension]);
  return context.map((value) => [numberSpan(value), " "]);
}

/** @param {number} value */
function result(value) {
  return h(Result, { key: String(value), value });
}

/**
 * The context as bars, and one of its numbers as a sum over the keys, those in the tables first.
 * @param {{ step: Step, dimension: number }} props
 */
function WrittenContext({ step, dimension }) {
  const { detail, work, keys, onChange } = step;
  const onChoose = (/** @type {number} */ index) => onChange({ context: String(index) });
  const all = work.weights.map((_, key) => key);
  const ordered = keys.length === all.length ? all : [...keys, ...all.filter((key) => !keys.includes(key))];
  const terms = ordered.map((key) => ({
    label: tokenLabel(detail.key_labels[key]),
    parts: [result(work.weights[key]), " × ", numberSpan(work.values[key][dimension])],
    value: work.weights[key] * work.values[key][dimension],
  }));
  return h(
    "div",
    { class: "stack" },
    h(VectorStrip, { values: work.context, label: "c", chosen: dimension, onChoose }),
    h(DimensionField, { label: t("inside.which_number"), count: work.context.length, chosen: dimension, onChoose }),
    h(WrittenSum, {
      terms,
      total: work.context[dimension],
      label: t("inside.context_number", { number: dimension + 1 }),
    }),
  );
}

/**
 * The worked example's sum in full: each value times its weight, all three numbers of it.
 * @param {{ work: AttentionWork, labels: string[] }} props
 */
function ExampleContext({ work, labels }) {
  const rows = work.values.map((value, key) =>
    h(
      "tr",
      { key: labels[key] },
      h("th", { scope: "row" }, labels[key]),
      h("td", null, result(work.weights[key]), " ×"),
      value.map((entry) =>
        h("td", null, h("span", { class: "faint" }, `${entry} = `), result(work.weights[key] * entry)),
      ),
    ),
  );
  const [v1, v2, v3] = work.context.map((value) => value.toFixed(2));
  return h(
    "div",
    { class: "stack" },
    h(
      TableScroll,
      { label: t("inside.context_title") },
      h(
        "table",
        { class: "numbers terms" },
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            h("td", null),
            h("th", { scope: "col" }, t("inside.weight")),
            MEANINGS.map((key) => h("th", { scope: "col" }, t(key))),
          ),
        ),
        h("tbody", null, rows),
        h(
          "tfoot",
          null,
          h(
            "tr",
            null,
            h("th", { scope: "row", colspan: 2 }, t("inside.sum")),
            work.context.map((value) => h("td", null, result(value))),
          ),
        ),
      ),
    ),
    !hidesResults.value && h("p", { class: "meaning" }, t("inside.example_meaning", { v1, v2, v3 })),
  );
}

/**
 * The head's part of the output, and what the other heads and the bias add to it.
 * @param {CardProps} props
 */
export function OutputCard({ step, number, isHalf }) {
  const { detail, work, choice, onChange } = step;
  const part = work.part ?? [];
  const dimension = Math.min(choice.output, part.length - 1);
  const onChoose = (/** @type {number} */ index) => onChange({ output: String(index) });
  const weights = detail.output_weight?.[dimension] ?? [];
  const { heads } = detail.layer;
  return h(
    StepCard,
    {
      number,
      title: t("inside.output_title"),
      formula: ATTENTION_FORMULAS.output(),
      text: t("inside.output_text", { heads }),
      isHalf,
    },
    h(VectorStrip, { values: part, label: "o", chosen: dimension, onChoose }),
    h(DimensionField, { label: t("inside.which_number"), count: part.length, chosen: dimension, onChoose }),
    h(WrittenSum, {
      terms: dotTerms(weights, work.context),
      total: part[dimension],
      label: t("inside.head_part", { number: dimension + 1 }),
    }),
    h(NumberList, { facts: outputParts(step, part[dimension], dimension) }),
  );
}

/**
 * @param {Step} step
 * @param {number} own
 * @param {number} dimension
 * @returns {[string, number][]}
 */
function outputParts({ detail }, own, dimension) {
  const bias = detail.output_bias?.[dimension] ?? 0;
  const total = detail.output?.[dimension] ?? 0;
  const others = detail.layer.heads - 1;
  return [
    [t("inside.output_own"), own],
    [others === 1 ? t("inside.output_other") : t("inside.output_others", { heads: others }), total - own - bias],
    [t("inside.output_bias"), bias],
    [t("inside.output_total"), total],
  ];
}
