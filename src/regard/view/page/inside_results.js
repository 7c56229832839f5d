/** The last steps: the weighted sum of the values, and W_O. */

import { productTerms } from "./inside_arithmetic.js";
import { formulaOf } from "./inside_formulas.js";
import { dimensionField, numberNode, stepCard, timesParts, vectorStrip, writtenSum } from "./inside_parts.js";
import { h } from "./make.js";
import { pieceLabel } from "./pieces.js";
import { t } from "./text.js";

/** Each value times its weight, added up. */
export function contextStep(step, number) {
  const { inside, work, choice, change, keys, other } = step;
  const count = work.context.length;
  const dimension = Math.min(choice.dimension, count - 1);
  const column = work.values.map((value) => value[dimension]);
  const rows = work.weights.map((weight, key) => ({
    label: pieceLabel(inside.key_labels[key]),
    parts: timesParts(weight, column[key]),
    value: weight * column[key],
    key,
  }));
  const ordered = [...rows.filter(({ key }) => keys.includes(key)), ...rows.filter(({ key }) => !keys.includes(key))];
  return stepCard(
    {
      number,
      title: t("inside.context_title"),
      formula: formulaOf("context"),
      text: t(inside.layer.use === "picture" ? "inside.context_picture" : "inside.context_text", { query: pieceLabel(inside.query_label) }),
      isHalf: Boolean(inside.output_weight),
    },
    contextVectors(step, dimension),
    inside.layer.name !== "example" && [
      dimensionField(t("inside.which_number"), count, dimension, (chosen) => change({ dimension: chosen })),
      writtenSum({ rows: ordered, total: work.context[dimension], totalLabel: t("inside.context_number", { number: dimension + 1 }) }),
    ],
    other &&
      h(
        "p",
        { class: "other-line" },
        t("inside.switched_off"),
        ": ",
        other.context.length < 4 ? other.context.map((value) => [numberNode(value), " "]) : numberNode(other.context[dimension]),
      ),
  );
}

function contextVectors({ work, change, inside }, dimension) {
  if (inside.layer.name === "example") return exampleContext(work, inside.key_labels);
  return vectorStrip(work.context, { label: "c", chosen: dimension, onDimension: (chosen) => change({ dimension: chosen }) });
}

/** The worked example's sum in full: each value times its weight, all three numbers of it. */
function exampleContext(work, labels) {
  const meanings = work.context.map((_, index) => t(`inside.meaning_${index + 1}`));
  const rows = work.values.map((value, key) => value.map((number) => work.weights[key] * number));
  const head = h(
    "tr",
    null,
    h("td"),
    h("th", { scope: "col" }, t("inside.weight")),
    meanings.map((meaning) => h("th", { scope: "col" }, meaning)),
  );
  const body = rows.map((row, key) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, `${labels[key]}`),
      h("td", null, numberNode(work.weights[key]), " ×"),
      row.map((product, index) => h("td", null, h("span", { class: "faint" }, `${work.values[key][index]} = `), numberNode(product))),
    ),
  );
  const total = h(
    "tr",
    null,
    h("th", { scope: "row", colspan: "2" }, t("inside.sum")),
    work.context.map((value) => h("td", null, numberNode(value))),
  );
  const told = Object.fromEntries(work.context.map((value, index) => [`v${index + 1}`, value.toFixed(2)]));
  return h(
    "div",
    { class: "stack" },
    h(
      "div",
      { class: "table-scroll", tabindex: "0", role: "group", "aria-label": t("inside.context_title") },
      h("table", { class: "numbers terms" }, h("thead", null, head), h("tbody", null, body), h("tfoot", null, total)),
    ),
    h("p", { class: "meaning" }, t("inside.example_meaning", told)),
  );
}

/** The head's part of the output, and what the other heads and the bias add to it. */
export function outputStep({ inside, work, choice, change }, number) {
  const count = work.part.length;
  const dimension = Math.min(choice.outputDimension, count - 1);
  const terms = productTerms(inside.output_weight[dimension], work.context).map(({ left, right, product }, index) => ({
    label: index + 1,
    parts: timesParts(left, right),
    value: product,
  }));
  const bias = inside.output_bias?.[dimension] ?? 0;
  const total = inside.output[dimension];
  const others = inside.layer.heads - 1;
  const rest = { own: work.part[dimension], [others === 1 ? "other" : "others"]: total - work.part[dimension] - bias, bias, total };
  return stepCard(
    {
      number,
      title: t("inside.output_title"),
      formula: formulaOf("output"),
      text: t("inside.output_text", { heads: inside.layer.heads }),
      isHalf: true,
    },
    vectorStrip(work.part, { label: "o", chosen: dimension, onDimension: (chosen) => change({ outputDimension: chosen }) }),
    dimensionField(t("inside.which_number"), count, dimension, (chosen) => change({ outputDimension: chosen })),
    writtenSum({ rows: terms, total: rest.own, totalLabel: t("inside.head_part", { number: dimension + 1 }) }),
    h(
      "ul",
      { class: "adding" },
      Object.entries(rest).map(([name, value]) =>
        h("li", null, t(`inside.output_${name}`, { heads: others }), " ", numberNode(value)),
      ),
    ),
  );
}
