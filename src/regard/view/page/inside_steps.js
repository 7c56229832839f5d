/** The steps of attention as cards, from x to W_O, each with its formula and the numbers of this query. */

import { entropyBits, largestDifference, productTerms, scoreTerms, steepestSlope } from "./inside_arithmetic.js";
import { formulaOf } from "./inside_formulas.js";
import { dimensionField, numberNode, numberText, smallText, stepCard, timesParts, vectorStrip, writtenSum } from "./inside_parts.js";
import { barNames, weightsPicture } from "./inside_picture.js";
import { projectionStep } from "./inside_projections.js";
import { keyTable, pieceLabel, rowsShown } from "./inside_tables.js";
import { h } from "./make.js";
import { t } from "./text.js";

/**
 * All steps for one query.
 *
 * step: {inside, work, other, choice, change}: the API's numbers, the arithmetic over them, the same with something switched off (or null),
 * what is chosen to be written out, and how to choose otherwise.
 */
export function insideSteps(step) {
  const isScaled = step.inside.layer.score === "scaled_dot";
  const makers = [projectionStep, scoreStep, isScaled && scalingStep, visibilityStep, softmaxStep, contextStep, step.inside.output_weight && outputStep];
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
    "div", { class: "stack" },
    keyTable({ labels: inside.key_labels, keys, chosen: choice.key, choose: (key) => change({ key }), columns, caption }),
    hidden > 0 && h("button", { type: "button", class: "link", "data-focus": "whole", onclick: () => change({ isWhole: true }) }, t("inside.more_keys", { count: hidden })),
  );
}

function scoreStep(step, number) {
  const { inside, work, choice } = step;
  const { score } = inside.layer;
  const label = t("inside.score_of", { query: pieceLabel(inside.query_label), key: keyLabel(step) });
  const title = t(score === "additive" ? "inside.raw_additive" : "inside.raw");
  return stepCard(
    { number, title: t("inside.score_title"), formula: formulaOf(score === "scaled_dot" ? "dot" : score), text: t(`inside.score_${score === "scaled_dot" ? "dot" : score}`) },
    h("div", { class: "side-by-side" },
      keysTable(step, t("inside.score_title"), [{ title, values: work.raw }]),
      h("div", { class: "stack" }, h("h3", null, label), writtenSum({ rows: scoreRows(work, choice.key), total: work.raw[choice.key], totalLabel: t("inside.sum") }))),
  );
}

function scoreRows(work, key) {
  return scoreTerms(work, key).map(({ left, right, inner, factor, product }, index) => ({
    label: index + 1,
    value: product,
    parts: inner === undefined ? timesParts(left, right) : [numberNode(factor), " × tanh(", numberNode(left), " + ", numberNode(right), ")"],
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
    { number, title: t("inside.scaling_title"), formula: formulaOf("scaling"), text: t("inside.scaling_text", { width, root: numberText(work.divisor) }), isHalf: true },
    keysTable(step, t("inside.scaling_title"), columns),
  );
}

function visibilityStep(step, number) {
  const { inside, work, other, choice } = step;
  const hidden = inside.visible.filter((isVisible) => !isVisible).length;
  const head = { number, title: t("inside.visibility_title"), formula: formulaOf("visibility"), text: t("inside.visibility_text"), isHalf: inside.layer.score === "scaled_dot" };
  if (!hidden) return stepCard({ ...head, formula: null, text: t(`inside.all_visible_${inside.layer.use === "decoder-self" ? "decoder" : "other"}`) });
  const columns = [
    { title: "s", values: work.scores },
    { title: t("inside.may_look"), values: inside.visible.map((isVisible) => (isVisible ? t("inside.yes") : t("inside.no"))), kind: "text" },
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
  const picture = weightsPicture({ title, keys: keys.map((key) => pieceLabel(inside.key_labels[key])), weights: pick(work.weights), other: pick(other?.weights), names: barNames() });
  return stepCard(
    { number, title: t("inside.softmax_title"), formula: formulaOf("softmax"), text: t("inside.softmax_text") },
    h("div", { class: "side-by-side" },
      h("div", { class: "stack" }, keysTable(step, t("inside.softmax_title"), columns), h("p", { class: "total" }, t("inside.total"), " ", numberNode(work.total))),
      h("div", { class: "stack" }, picture, other && whatChanged(step))),
    inside.layer.name !== "example" && h("p", { class: "faint small deviation" }, deviationText(step)),
  );
}

function deviationText({ inside, work }) {
  const own = largestDifference(work.weights, inside.weights);
  return t(inside.layer.deviation > 0 ? "inside.deviation" : "inside.deviation_none", { own: smallText(own), kernel: smallText(inside.layer.deviation) });
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
    "div", { class: "changed", role: "status" },
    h("table", { class: "numbers" },
      h("thead", null, h("tr", null, h("td"), barNames().map((one) => h("th", { scope: "col" }, one)))),
      h("tbody", null, facts.map(([label, before, after]) => h("tr", null, h("th", { scope: "row" }, label), h("td", null, numberNode(before)), h("td", { class: "other" }, numberNode(after)))))),
    choice.withoutScaling && h("p", { class: "explain" }, t("inside.why_scaling")),
    choice.withoutMasking && h("p", { class: "explain" }, t("inside.why_masking")),
  );
}

function contextStep(step, number) {
  const { inside, work, choice, change, keys, other } = step;
  const count = work.context.length;
  const dimension = Math.min(choice.dimension, count - 1);
  const column = work.values.map((value) => value[dimension]);
  const rows = work.weights.map((weight, key) => ({ label: pieceLabel(inside.key_labels[key]), parts: timesParts(weight, column[key]), value: weight * column[key], key }));
  const ordered = [...rows.filter(({ key }) => keys.includes(key)), ...rows.filter(({ key }) => !keys.includes(key))];
  return stepCard(
    { number, title: t("inside.context_title"), formula: formulaOf("context"), text: t("inside.context_text", { query: pieceLabel(inside.query_label) }), isHalf: Boolean(inside.output_weight) },
    contextVectors(step, dimension),
    inside.layer.name !== "example" && [
      dimensionField(t("inside.which_number"), count, dimension, (chosen) => change({ dimension: chosen })),
      writtenSum({ rows: ordered, total: work.context[dimension], totalLabel: t("inside.context_number", { number: dimension + 1 }) }),
    ],
    other && h("p", { class: "other-line" }, t("inside.switched_off"), ": ", other.context.length < 4 ? other.context.map((value) => [numberNode(value), " "]) : numberNode(other.context[dimension])),
  );
}

function contextVectors({ work, choice, change, inside }, dimension) {
  if (inside.layer.name === "example") return exampleContext(work, inside.key_labels);
  return vectorStrip(work.context, { label: "c", chosen: dimension, onDimension: (chosen) => change({ ...choice, dimension: chosen }) });
}

/** The worked example's sum in full: each value times its weight, all three numbers of it. */
function exampleContext(work, labels) {
  const meanings = work.context.map((_, index) => t(`inside.meaning_${index + 1}`));
  const rows = work.values.map((value, key) => value.map((number) => work.weights[key] * number));
  const head = h("tr", null, h("td"), h("th", { scope: "col" }, t("inside.weight")), meanings.map((meaning) => h("th", { scope: "col" }, meaning)));
  const body = rows.map((row, key) =>
    h("tr", null, h("th", { scope: "row" }, `${labels[key]}`), h("td", null, numberNode(work.weights[key]), " ×"),
      row.map((product, index) => h("td", null, h("span", { class: "faint" }, `${work.values[key][index]} = `), numberNode(product)))));
  const total = h("tr", null, h("th", { scope: "row", colspan: "2" }, t("inside.sum")), work.context.map((value) => h("td", null, numberNode(value))));
  const told = Object.fromEntries(work.context.map((value, index) => [`v${index + 1}`, value.toFixed(2)]));
  return h("div", { class: "stack" },
    h("div", { class: "table-scroll", tabindex: "0", role: "group", "aria-label": t("inside.context_title") }, h("table", { class: "numbers terms" }, h("thead", null, head), h("tbody", null, body), h("tfoot", null, total))),
    h("p", { class: "meaning" }, t("inside.example_meaning", told)));
}

function outputStep({ inside, work, choice, change }, number) {
  const count = work.part.length;
  const dimension = Math.min(choice.outputDimension, count - 1);
  const terms = productTerms(inside.output_weight[dimension], work.context).map(({ left, right, product }, index) => ({ label: index + 1, parts: timesParts(left, right), value: product }));
  const bias = inside.output_bias?.[dimension] ?? 0;
  const total = inside.output[dimension];
  const rest = { own: work.part[dimension], others: total - work.part[dimension] - bias, bias, total };
  return stepCard(
    { number, title: t("inside.output_title"), formula: formulaOf("output"), text: t("inside.output_text", { heads: inside.layer.heads }), isHalf: true },
    vectorStrip(work.part, { label: "o", chosen: dimension, onDimension: (chosen) => change({ outputDimension: chosen }) }),
    dimensionField(t("inside.which_number"), count, dimension, (chosen) => change({ outputDimension: chosen })),
    writtenSum({ rows: terms, total: rest.own, totalLabel: t("inside.head_part", { number: dimension + 1 }) }),
    h("ul", { class: "adding" }, Object.entries(rest).map(([name, value]) => h("li", null, t(`inside.output_${name}`, { heads: inside.layer.heads - 1 }), " ", numberNode(value)))),
  );
}
