// @ts-check
/** From the query and the keys to the weights: scores, scaling, the bias of relative positions, visibility, softmax. */

import { Plot } from "../../charts/plot.js";
import { queryWeights } from "../../charts/query_weights.js";
import { t } from "../../core/i18n.js";
import { useWidth } from "../../core/query.js";
import { h, useMemo } from "../../core/ui.js";
import { entropyBits, largestDifference, scoreTerms, steepestSlope } from "../../math/attention.js";
import { tokenLabel } from "../../math/tokens.js";
import { hidesResults, Result } from "../exercise.js";
import { ATTENTION_FORMULAS } from "../formula.js";
import { KeyTable, TableScroll } from "../number_table.js";
import { numberSpan, numberText, smallText } from "../number_text.js";
import { SCORE_FUNCTIONS } from "../score_functions.js";
import { VectorList } from "../vector_bar_list.js";
import { DimensionField, matrixTerms, subscript, timesParts, WrittenSum } from "../written_sum.js";
import { keyLabel, queryLabel, StepCard } from "./step_card.js";

/** @import { AttentionWork, ScoreName } from "../../math/attention.js" */
/** @import { KeyColumn } from "../number_table.js" */
/** @import { CardProps, Step } from "./step_card.js" */

const WIDEST_BARS = 620;

/**
 * The table that most steps have: one row for each key.
 * @param {{ step: Step, caption: string, columns: (KeyColumn | false | null)[] }} props
 */
function KeysTable({ step, caption, columns }) {
  const { detail, keys, choice, onChange, work } = step;
  const hidden = work.weights.length - keys.length;
  return h(
    "div",
    { class: "stack" },
    h(KeyTable, {
      labels: detail.key_labels,
      keys,
      chosen: choice.key,
      onChoose: (/** @type {number} */ key) => onChange({ key: String(key) }),
      columns: /** @type {KeyColumn[]} */ (columns.filter(Boolean)),
      caption,
    }),
    hidden > 0 &&
      h(
        "button",
        { type: "button", class: "link", onClick: () => onChange({ keys: "all" }) },
        t("inside.more_keys", { count: hidden }),
      ),
  );
}

/** @param {CardProps} props */
export function ScoreCard({ step, number }) {
  const { detail, work, choice } = step;
  const title = t("inside.score_title");
  const { formula, text, column } = SCORE_FUNCTIONS[/** @type {ScoreName} */ (detail.layer.score)];
  return h(
    StepCard,
    { number, title, formula: formula(), text: t(text) },
    detail.layer.score === "general" && h(PreparedKey, { step }),
    h(
      "div",
      { class: "side-by-side" },
      h(KeysTable, { step, caption: title, columns: [{ title: t(column), values: work.raw }] }),
      h(
        "div",
        { class: "stack" },
        h("h3", null, t("inside.score_of", { query: queryLabel(step), key: keyLabel(step) })),
        h(WrittenSum, { terms: writtenTerms(work, choice.key), total: work.raw[choice.key], label: t("inside.sum") }),
      ),
    ),
  );
}

/**
 * @param {AttentionWork} work
 * @param {number} key
 */
function writtenTerms(work, key) {
  return scoreTerms(work, key).map(({ left, right, product, written }, index) => ({
    label: index + 1,
    value: product,
    parts: written?.map((part) => (typeof part === "number" ? numberSpan(part) : part)) ?? timesParts(left, right),
  }));
}

/**
 * The general score's own matrix: W k of the chosen key, and one of its numbers as a sum.
 * @param {{ step: Step }} props
 */
function PreparedKey({ step }) {
  const { detail, work, choice, onChange } = step;
  const weight = detail.score_parameters["project_keys.weight"];
  const values = work.compared.keys[choice.key];
  const chosen = Math.min(choice.prepared, values.length - 1);
  const onChoose = (/** @type {number} */ index) => onChange({ prepared: String(index) });
  return h(
    "div",
    { class: "stack prepared" },
    h(VectorList, { rows: [{ letter: "W k", token: keyLabel(step), values, chosen, onChoose }] }),
    h(DimensionField, { label: t("inside.which_number"), count: values.length, chosen, onChoose }),
    h(WrittenSum, {
      terms: matrixTerms({ weight, row: chosen, vector: work.keys[choice.key], letter: "k" }),
      total: values[chosen],
      label: `(W k)${subscript(chosen + 1)}`,
    }),
  );
}

/** @param {CardProps} props */
export function ScalingCard({ step, number, isHalf }) {
  const { work, changed, choice } = step;
  const width = work.query.length;
  const title = t("inside.scaling_title");
  const text = t("inside.scaling_text", { width, root: numberText(work.divisor) });
  /** @type {(KeyColumn | false | null)[]} */
  const columns = [
    { title: "q · k", values: work.raw },
    { title: `÷ √${width}`, values: work.scaled },
    choice.isUnscaled &&
      changed && { title: t("inside.without_scaling_short"), values: changed.scaled, kind: "changed" },
  ];
  return h(
    StepCard,
    { number, title, formula: ATTENTION_FORMULAS.scaling(), text, isHalf },
    h(KeysTable, { step, caption: title, columns }),
  );
}

/**
 * What relative positions add to each score.
 * @param {CardProps} props
 */
export function PositionBiasCard({ step, number, isHalf }) {
  const { detail, work } = step;
  const title = t("inside.bias_title");
  const before = detail.layer.score === "scaled_dot" ? `q · k ÷ √${work.query.length}` : "q · k";
  const columns = [
    { title: before, values: work.scaled },
    { title: "+ b", values: /** @type {number[]} */ (detail.position_bias) },
    { title: "= s", values: work.scores },
  ];
  return h(
    StepCard,
    { number, title, formula: ATTENTION_FORMULAS.positionBias(), text: t("inside.bias_text"), isHalf },
    h(KeysTable, { step, caption: title, columns }),
  );
}

/** @param {CardProps} props */
export function VisibilityCard({ step, number, isHalf }) {
  const { detail, work, changed, choice } = step;
  const title = t("inside.visibility_title");
  if (!detail.visible.includes(false))
    return h(StepCard, { number, title, text: allVisibleText(detail.layer.role), isHalf });
  /** @type {(KeyColumn | false | null)[]} */
  const columns = [
    { title: "s", values: work.scores },
    {
      title: t("inside.may_look"),
      values: detail.visible.map((isVisible) => (isVisible ? t("inside.yes") : t("inside.no"))),
      kind: "text",
    },
    { title: t("inside.after"), values: seenScores(work.scores, detail.visible) },
    choice.isUnmasked &&
      changed && { title: t("inside.without_masking_short"), values: changed.scores, kind: "changed" },
  ];
  return h(
    StepCard,
    { number, title, formula: ATTENTION_FORMULAS.visibility(), text: t("inside.visibility_text"), isHalf },
    h(KeysTable, { step, caption: title, columns }),
  );
}

/** @param {string} role */
function allVisibleText(role) {
  if (role === "decoder-self") return t("inside.all_visible_decoder");
  return role === "image-cross" ? t("inside.all_visible_picture") : t("inside.all_visible_other");
}

/**
 * @param {number[]} scores
 * @param {boolean[]} visible
 */
function seenScores(scores, visible) {
  return scores.map((score, key) => (visible[key] ? score : -Infinity));
}

/** @param {CardProps} props */
export function SoftmaxCard({ step, number }) {
  const { detail, work, changed } = step;
  const title = t("inside.softmax_title");
  /** @type {(KeyColumn | false | null)[]} */
  const columns = [
    { title: "s", values: seenScores(work.scores, work.visible) },
    { title: work.shift ? `e^(s − ${numberText(work.shift)})` : "eˢ", values: work.exponentials },
    { title: t("inside.weight"), values: work.weights, kind: "weight" },
    changed && { title: t("inside.switched_off"), values: changed.weights, kind: "changed" },
  ];
  return h(
    StepCard,
    { number, title, formula: ATTENTION_FORMULAS.softmax(), text: t("inside.softmax_text") },
    h(
      "div",
      { class: "side-by-side" },
      h(
        "div",
        { class: "stack" },
        h(KeysTable, { step, caption: title, columns }),
        h("p", { class: "total" }, t("inside.total"), " ", h(Result, { key: String(work.total), value: work.total })),
      ),
      h(
        "div",
        { class: "stack" },
        !hidesResults.value && h(WeightsChart, { step }),
        changed && h(Changes, { step, changed }),
      ),
    ),
    detail.layer.name !== "example" && h("p", { class: "faint small deviation" }, deviationText(step)),
  );
}

/** @param {{ step: Step }} props */
function WeightsChart({ step }) {
  const { detail, work, changed, keys } = step;
  const [box, width] = /** @type {ReturnType<typeof useWidth<HTMLDivElement>>} */ (useWidth());
  const title = t("inside.weights_of", { query: queryLabel(step) });
  const names = /** @type {[string, string]} */ ([t("inside.as_it_is"), t("inside.switched_off")]);
  const chart = useMemo(() => {
    const labels = keys.map((key) => tokenLabel(detail.key_labels[key]));
    const ofKeys = (/** @type {number[]} */ values) => keys.map((key) => values[key]);
    const data = {
      title,
      keys: labels,
      weights: ofKeys(work.weights),
      changed: changed && ofKeys(changed.weights),
      names,
    };
    return queryWeights(data, { width: Math.min(WIDEST_BARS, width) });
  }, [work, changed, keys.join(), width, title]);
  return h("div", { ref: box, class: "weights-picture" }, width > 0 && h(Plot, { chart }));
}

/** @param {Step} step */
function deviationText({ detail, work }) {
  const own = smallText(largestDifference(work.weights, detail.weights));
  const { deviation } = detail.layer;
  return deviation > 0
    ? t("inside.deviation", { own, kernel: smallText(deviation) })
    : t("inside.deviation_none", { own });
}

/**
 * What the switches did to this query, in words and numbers.
 * @param {{ step: Step, changed: AttentionWork }} props
 */
function Changes({ step, changed }) {
  const { detail, work, choice } = step;
  const onHidden = changed.weights.reduce((sum, weight, key) => (detail.visible[key] ? sum : sum + weight), 0);
  const facts = /** @type {[string, number, number][]} */ ([
    [t("inside.largest"), Math.max(...work.weights), Math.max(...changed.weights)],
    [t("inside.entropy"), entropyBits(work.weights), entropyBits(changed.weights)],
    [t("inside.slope"), steepestSlope(work.weights), steepestSlope(changed.weights)],
  ]);
  if (choice.isUnmasked) facts.push([t("inside.future"), 0, onHidden]);
  const rows = facts.map(([label, before, after]) =>
    h(
      "tr",
      { key: label },
      h("th", { scope: "row" }, label),
      h("td", null, numberSpan(before)),
      h("td", { class: "other" }, numberSpan(after)),
    ),
  );
  const names = [t("inside.as_it_is"), t("inside.switched_off")];
  return h(
    "div",
    { class: "changed", role: "status" },
    h(
      TableScroll,
      { label: names.join(", ") },
      h(
        "table",
        { class: "numbers" },
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            h("td", null),
            names.map((name) => h("th", { key: name, scope: "col" }, name)),
          ),
        ),
        h("tbody", null, rows),
      ),
    ),
    choice.isUnscaled && h("p", { class: "explain" }, t("inside.why_scaling")),
    choice.isUnmasked && h("p", { class: "explain" }, t("inside.why_masking")),
  );
}
