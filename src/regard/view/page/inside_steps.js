/** The steps of attention as cards, from the token to the block's end, each with its formula and the numbers of this query. */

import { entropyBits, largestDifference, scoreTerms, steepestSlope } from "./inside_arithmetic.js";
import { stepsAfter, stepsBefore } from "./inside_around.js";
import { formulaOf } from "./inside_formulas.js";
import { numberNode, numberText, smallText, stepCard, timesParts, writtenSum } from "./inside_parts.js";
import { barNames, weightsPicture } from "./inside_picture.js";
import { preparedKey } from "./inside_prepared.js";
import { projectionStep } from "./inside_projections.js";
import { contextStep, outputStep } from "./inside_results.js";
import { keyTable, rowsShown } from "./inside_tables.js";
import { h } from "./make.js";
import { pieceLabel } from "./pieces.js";
import { t } from "./text.js";

/**
 * All steps for one query.
 *
 * step: {inside, work, other, choice, change, goTo}: the API's numbers, the arithmetic over them, the same with something switched off (or null),
 * what is chosen to be written out, and how to choose otherwise; `goTo(layer)` leads to another attention, where a view can.
 */
export function insideSteps(step) {
  const isScaled = step.inside.layer.score === "scaled_dot";
  const makers = [
    ...stepsBefore(step),
    projectionStep,
    scoreStep,
    isScaled && scalingStep,
    visibilityStep,
    softmaxStep,
    contextStep,
    step.inside.output_weight && outputStep,
    ...stepsAfter(step),
  ];
  const keys = rowsShown(step.work.weights, step.choice.key, step.choice.isWhole);
  return makers.filter(Boolean).map((make, index) => make({ ...step, keys }, index + 1));
}

function keyLabel({ inside, choice }) {
  return pieceLabel(inside.key_labels[choice.key]);
}

/** The table that most steps have: one row for each key. */
function keysTable({ inside, keys, choice, change, work }, caption, columns) {
  const hidden = work.weights.length - keys.length;
  return h(
    "div",
    { class: "stack" },
    keyTable({ labels: inside.key_labels, keys, chosen: choice.key, choose: (key) => change({ key }), columns, caption }),
    hidden > 0 &&
      h(
        "button",
        { type: "button", class: "link", "data-focus": "whole", onclick: () => change({ isWhole: true }) },
        t("inside.more_keys", { count: hidden }),
      ),
  );
}

function scoreStep(step, number) {
  const { inside, work, choice } = step;
  const { score } = inside.layer;
  const label = t("inside.score_of", { query: pieceLabel(inside.query_label), key: keyLabel(step) });
  const title = t(["additive", "general"].includes(score) ? `inside.raw_${score}` : "inside.raw");
  return stepCard(
    {
      number,
      title: t("inside.score_title"),
      formula: formulaOf(score === "scaled_dot" ? "dot" : score),
      text: t(`inside.score_${score === "scaled_dot" ? "dot" : score}`),
    },
    inside.general && preparedKey(step),
    h(
      "div",
      { class: "side-by-side" },
      keysTable(step, t("inside.score_title"), [{ title, values: work.raw }]),
      h(
        "div",
        { class: "stack" },
        h("h3", null, label),
        writtenSum({ rows: scoreRows(work, choice.key), total: work.raw[choice.key], totalLabel: t("inside.sum") }),
      ),
    ),
  );
}

function scoreRows(work, key) {
  return scoreTerms(work, key).map(({ left, right, inner, factor, product }, index) => ({
    label: index + 1,
    value: product,
    parts:
      inner === undefined ? timesParts(left, right) : [numberNode(factor), " × tanh(", numberNode(left), " + ", numberNode(right), ")"],
  }));
}

function scalingStep(step, number) {
  const { work, other, choice } = step;
  const width = work.query.length;
  const columns = [
    { title: "q · k", values: work.raw },
    { title: `÷ √${width}`, values: work.scores },
    choice.withoutScaling && other && { title: t("inside.without_scaling_short"), values: other.scores, kind: "other" },
  ].filter(Boolean);
  return stepCard(
    {
      number,
      title: t("inside.scaling_title"),
      formula: formulaOf("scaling"),
      text: t("inside.scaling_text", { width, root: numberText(work.divisor) }),
      isHalf: true,
    },
    keysTable(step, t("inside.scaling_title"), columns),
  );
}

function visibilityStep(step, number) {
  const { inside, work, other, choice } = step;
  const hidden = inside.visible.filter((isVisible) => !isVisible).length;
  const head = {
    number,
    title: t("inside.visibility_title"),
    formula: formulaOf("visibility"),
    text: t("inside.visibility_text"),
    isHalf: inside.layer.score === "scaled_dot",
  };
  if (!hidden) {
    const kind = { "decoder-self": "decoder", picture: "picture" }[inside.layer.use] ?? "other";
    return stepCard({ ...head, formula: null, text: t(`inside.all_visible_${kind}`) });
  }
  const columns = [
    { title: "s", values: work.scores },
    {
      title: t("inside.may_look"),
      values: inside.visible.map((isVisible) => (isVisible ? t("inside.yes") : t("inside.no"))),
      kind: "text",
    },
    { title: t("inside.after"), values: work.scores.map((score, key) => (inside.visible[key] ? score : -Infinity)) },
    choice.withoutMasking && other && { title: t("inside.without_masking_short"), values: other.scores, kind: "other" },
  ].filter(Boolean);
  return stepCard(head, keysTable(step, t("inside.visibility_title"), columns));
}

function softmaxStep(step, number) {
  const { inside, work, other, keys } = step;
  const exponent = work.shift ? `e^(s − ${numberText(work.shift)})` : "eˢ";
  const columns = [
    { title: "s", values: work.scores.map((score, key) => (work.visible[key] ? score : -Infinity)) },
    { title: exponent, values: work.exponents },
    { title: t("inside.weight"), values: work.weights, kind: "weight" },
    other && { title: t("inside.switched_off"), values: other.weights, kind: "other" },
  ].filter(Boolean);
  const title = t("inside.weights_of", { query: pieceLabel(inside.query_label) });
  const pick = (values) => values && keys.map((key) => values[key]);
  const picture = weightsPicture({
    title,
    keys: keys.map((key) => pieceLabel(inside.key_labels[key])),
    weights: pick(work.weights),
    other: pick(other?.weights),
    names: barNames(),
  });
  return stepCard(
    { number, title: t("inside.softmax_title"), formula: formulaOf("softmax"), text: t("inside.softmax_text") },
    h(
      "div",
      { class: "side-by-side" },
      h(
        "div",
        { class: "stack" },
        keysTable(step, t("inside.softmax_title"), columns),
        h("p", { class: "total" }, t("inside.total"), " ", numberNode(work.total)),
      ),
      h("div", { class: "stack" }, picture, other && whatChanged(step)),
    ),
    inside.layer.name !== "example" && h("p", { class: "faint small deviation" }, deviationText(step)),
  );
}

function deviationText({ inside, work }) {
  const own = largestDifference(work.weights, inside.weights);
  return t(inside.layer.deviation > 0 ? "inside.deviation" : "inside.deviation_none", {
    own: smallText(own),
    kernel: smallText(inside.layer.deviation),
  });
}

/** What the switches did to this query, in words and numbers. */
function whatChanged({ inside, work, other, choice }) {
  const hiddenNow = other.weights.reduce((sum, weight, key) => (inside.visible[key] ? sum : sum + weight), 0);
  const facts = [
    [t("inside.largest"), Math.max(...work.weights), Math.max(...other.weights)],
    [t("inside.entropy"), entropyBits(work.weights), entropyBits(other.weights)],
    [t("inside.slope"), steepestSlope(work.weights), steepestSlope(other.weights)],
    choice.withoutMasking && [t("inside.future"), 0, hiddenNow],
  ].filter(Boolean);
  return h(
    "div",
    { class: "changed", role: "status" },
    h(
      "table",
      { class: "numbers" },
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          h("td"),
          barNames().map((one) => h("th", { scope: "col" }, one)),
        ),
      ),
      h(
        "tbody",
        null,
        facts.map(([label, before, after]) =>
          h(
            "tr",
            null,
            h("th", { scope: "row" }, label),
            h("td", null, numberNode(before)),
            h("td", { class: "other" }, numberNode(after)),
          ),
        ),
      ),
    ),
    choice.withoutScaling && h("p", { class: "explain" }, t("inside.why_scaling")),
    choice.withoutMasking && h("p", { class: "explain" }, t("inside.why_masking")),
  );
}
