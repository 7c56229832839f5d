/** The first step: from x to the query, and from each token's x to its key and value. */

import { productTerms } from "./inside_arithmetic.js";
import { EXAMPLE } from "./inside_example.js";
import { formulaOf } from "./inside_formulas.js";
import { dimensionField, matrixTable, stepCard, timesParts, vectorStrip, writtenSum } from "./inside_parts.js";
import { pieceLabel } from "./inside_tables.js";
import { h } from "./make.js";
import { segments } from "./notes.js";
import { t } from "./text.js";

/** The card: whole matrices in the worked example, bars and one sum written out for a model; an RNN has no matrices here. */
export function projectionStep(step, number) {
  const { inside } = step;
  if (inside.layer.name === "example") return exampleProjections(step, number);
  if (!inside.query_weight) return stateStep(step, number);
  const text = inside.layer.use === "picture" ? "inside.projections_picture" : "inside.projections_text";
  return stepCard(
    {
      number,
      title: t("inside.projections_title"),
      formula: formulaOf("projections"),
      text: t(text, { width: inside.x.length, head: step.work.query.length }),
    },
    vectorRows(step),
    inside.is_rotary && h("p", { class: "explain" }, t("inside.rotary")),
    writtenProjection(step),
  );
}

/** No matrices: in an RNN the states are query, keys and values; a file may have left a large model's matrices out. */
function stateStep(step, number) {
  const { x, query, layer } = step.inside;
  const states = layer.use === "picture" ? "inside.states_picture" : "inside.states_text";
  const isState = x.length === query.length && x.every((value, index) => value === query[index]);
  const head = isState
    ? { title: t("inside.states_title"), formula: formulaOf("states"), text: t(states) }
    : { title: t("inside.projections_title"), formula: formulaOf("projections"), text: t("inside.matrices_left_out") };
  return stepCard({ number, ...head }, vectorRows(step));
}

function vectorRows({ inside, work, choice }) {
  const query = pieceLabel(inside.query_label);
  const key = pieceLabel(inside.key_labels[choice.key]);
  const isProjected = Boolean(inside.query_weight);
  const vectors = [
    isProjected && ["x", query, inside.x],
    ["q", query, work.query],
    isProjected && ["x", key, inside.key_inputs[choice.key]],
    ["k", key, work.keys[choice.key]],
    ["v", key, work.values[choice.key]],
  ].filter(Boolean);
  return h(
    "dl",
    { class: "vectors" },
    vectors.map(([letter, token, values]) =>
      h(
        "div",
        { class: "vector-row" },
        h("dt", null, h("i", null, letter), h("span", { class: "of", dir: "auto" }, `(${token})`)),
        h("dd", null, vectorStrip(values, { label: `${letter}(${token})` })),
      ),
    ),
  );
}

/** One number of q, k or v as the sum that it is. */
function writtenProjection(step) {
  const { inside, work, choice, change } = step;
  const offered = inside.is_rotary ? ["v"] : ["q", "k", "v"];
  const letter = offered.includes(choice.projection) ? choice.projection : offered[0];
  const { weight, bias, x, result } = {
    q: { weight: inside.query_weight, bias: inside.query_bias, x: inside.x, result: work.query },
    k: { weight: inside.key_weight, bias: inside.key_bias, x: inside.key_inputs[choice.key], result: work.keys[choice.key] },
    v: { weight: inside.value_weight, bias: inside.value_bias, x: inside.key_inputs[choice.key], result: work.values[choice.key] },
  }[letter];
  const dimension = Math.min(choice.projectionDimension, result.length - 1);
  const chooser = segments(
    t("inside.which_vector"),
    offered.map((one) => [one, one]),
    letter,
    (projection) => change({ projection }),
  );
  [...chooser.children].forEach((button, index) => (button.dataset.focus = `projection-${offered[index]}`));
  return h(
    "div",
    { class: "stack" },
    h(
      "div",
      { class: "controls" },
      chooser,
      dimensionField(t("inside.which_number"), result.length, dimension, (chosen) => change({ projectionDimension: chosen })),
    ),
    writtenSum({
      rows: projectionRows(weight[dimension], x, bias?.[dimension]),
      total: result[dimension],
      totalLabel: `${letter}${subscript(dimension + 1)}`,
    }),
  );
}

/** The terms of one row of a matrix times x, and the bias first, so that it is seen. */
function projectionRows(row, x, bias) {
  const terms = productTerms(row, x).map(({ left, right, product }, index) => ({
    label: `W${subscript(index + 1)} x${subscript(index + 1)}`,
    parts: timesParts(left, right),
    value: product,
  }));
  return bias === undefined || bias === null ? terms : [{ label: t("inside.bias"), parts: [], value: bias }, ...terms];
}

function subscript(number) {
  return [...String(number)].map((digit) => String.fromCodePoint(0x2080 + Number(digit))).join("");
}

/** W with its letter below. */
function matrixName(letter) {
  return ["W", h("sub", null, letter)];
}

/** The worked example in full: every matrix, every vector. */
function exampleProjections({ inside, work, choice, change }, number) {
  const { tokens, inputs, queryWeight, keyWeight, valueWeight } = EXAMPLE;
  const features = [1, 2, 3, 4].map((feature) => t(`inside.feature_${feature}`));
  const meanings = [1, 2, 3].map((meaning) => t(`inside.meaning_${meaning}`));
  const dimension = Math.min(choice.projectionDimension, work.query.length - 1);
  const query = pieceLabel(inside.query_label);
  return stepCard(
    { number, title: t("inside.projections_title"), formula: formulaOf("projections"), text: t("inside.example_projections") },
    h(
      "div",
      { class: "side-by-side" },
      h("div", { class: "matrices" }, matrixTable(inputs, { label: t("inside.example_x"), rowLabels: tokens, columnLabels: features })),
      h(
        "div",
        { class: "stack" },
        dimensionField(t("inside.which_q"), work.query.length, dimension, (chosen) => change({ projectionDimension: chosen })),
        writtenSum({
          rows: projectionRows(queryWeight[dimension], inside.x),
          total: work.query[dimension],
          totalLabel: `q${subscript(dimension + 1)}`,
        }),
      ),
    ),
    h(
      "div",
      { class: "matrices" },
      matrixTable(queryWeight, { label: matrixName("Q") }),
      matrixTable([work.query], { label: [`q(${query}) = `, matrixName("Q"), ` x(${query})`] }),
      matrixTable(keyWeight, { label: matrixName("K") }),
      matrixTable(work.keys, { label: ["k = ", matrixName("K"), " x"], rowLabels: tokens }),
      matrixTable(valueWeight, { label: matrixName("V") }),
      matrixTable(work.values, { label: ["v = ", matrixName("V"), " x"], rowLabels: tokens, columnLabels: meanings }),
    ),
  );
}
