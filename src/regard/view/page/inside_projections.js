/** The first step: from x to the query, and from each token's x to its key and value. */

import { turningAngle } from "./inside_arithmetic.js";
import { EXAMPLE } from "./inside_example.js";
import { formulaOf } from "./inside_formulas.js";
import { dimensionField, matrixTable, matrixTerms, numberText, stepCard, subscript, timesParts, vectorRow, writtenSum } from "./inside_parts.js";
import { h } from "./make.js";
import { segments } from "./notes.js";
import { pieceLabel } from "./pieces.js";
import { t } from "./text.js";

const LETTERS = ["q", "k", "v"];
const WAVES = { cos: Math.cos, sin: Math.sin, "−sin": (angle) => -Math.sin(angle) };

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
      formula: formulaOf(inside.query_bias ? "biased" : "projections"),
      text: t(text, { width: inside.x.length, head: step.work.query.length }),
    },
    vectorRows(step),
    inside.is_rotary && h("p", { class: "explain" }, t("inside.rotary")),
    writtenProjection(step),
  );
}

/** No matrices: in an RNN the states are query, keys and values; a file may have left a large model's matrices out. */
function stateStep(step, number) {
  const { layer } = step.inside;
  const states = layer.use === "picture" ? "inside.states_picture" : "inside.states_text";
  const head = isState(step.inside)
    ? { title: t("inside.states_title"), formula: formulaOf("states"), text: t(states) }
    : { title: t("inside.projections_title"), formula: formulaOf("projections"), text: t("inside.matrices_left_out") };
  return stepCard({ number, ...head }, vectorRows(step));
}

/** Whether the query is a decoder's state as it is: an RNN's attention. */
export function isState({ x, query }) {
  return Boolean(query) && x.length === query.length && x.every((value, index) => value === query[index]);
}

function vectorRows({ inside, work, choice }) {
  const query = pieceLabel(inside.query_label);
  const key = pieceLabel(inside.key_labels[choice.key]);
  const isProjected = Boolean(inside.query_weight);
  const vectors = [
    isProjected && ["x", query, inside.x],
    ["q", query, work.query],
    isProjected && ["x", key, inside.key_inputs[choice.key]],
    ["k", key, (inside.general?.unprepared_keys ?? work.keys)[choice.key]],
    ["v", key, work.values[choice.key]],
  ].filter(Boolean);
  return h(
    "dl",
    { class: "vectors" },
    vectors.map(([letter, token, values]) => vectorRow(letter, token, values)),
  );
}

/** One number of q, k or v as the sum that it is. */
function writtenProjection(step) {
  const { inside, work, choice, change } = step;
  const { key, projection: letter } = choice;
  const { weight, bias, x, result, position } = {
    q: { weight: inside.query_weight, bias: inside.query_bias, x: inside.x, result: work.unturned.query, position: inside.query_index },
    k: { weight: inside.key_weight, bias: inside.key_bias, x: inside.key_inputs[key], result: work.unturned.keys[key], position: key },
    v: { weight: inside.value_weight, bias: inside.value_bias, x: inside.key_inputs[key], result: work.values[key] },
  }[letter];
  const dimension = Math.min(choice.projectionDimension, result.length - 1);
  const chooser = segments(
    t("inside.which_vector"),
    LETTERS.map((one) => [one, one]),
    letter,
    (projection) => change({ projection }),
  );
  [...chooser.children].forEach((button, index) => (button.dataset.focus = `projection-${LETTERS[index]}`));
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
      rows: projectionRows(weight, dimension, x, bias),
      total: result[dimension],
      totalLabel: `${letter}${subscript(dimension + 1)}`,
    }),
    inside.is_rotary && position !== undefined && writtenTurn({ letter, vector: result, dimension, position }),
  );
}

/** The turn of the pair that a number of a rotary query or key belongs to. */
function writtenTurn({ letter, vector, dimension, position }) {
  const half = vector.length / 2;
  const pair = dimension % half;
  const angle = turningAngle(position, pair, vector.length);
  const [first, second] = [`${letter}${subscript(pair + 1)}`, `${letter}${subscript(half + pair + 1)}`];
  const terms =
    dimension < half
      ? [turnTerm(first, vector[pair], "cos", angle), turnTerm(second, vector[half + pair], "−sin", angle)]
      : [turnTerm(first, vector[pair], "sin", angle), turnTerm(second, vector[half + pair], "cos", angle)];
  return [
    h("p", { class: "explain turn" }, t("inside.turn", { position, first, second, pair, width: vector.length, angle: numberText(angle) })),
    writtenSum({
      rows: terms,
      total: terms.reduce((sum, { value }) => sum + value, 0),
      totalLabel: t("inside.turned", { number: `${letter}${subscript(dimension + 1)}` }),
    }),
  ];
}

function turnTerm(label, value, wave, angle) {
  const factor = WAVES[wave](angle);
  return { label: `${label} × ${wave} θ`, parts: timesParts(value, factor), value: value * factor };
}

/** The terms of one row of a matrix times x, and the bias first, so that it is seen. */
function projectionRows(weight, row, x, bias) {
  const terms = matrixTerms(weight, row, x, "x");
  return bias ? [{ label: `${t("inside.bias")} b${subscript(row + 1)}`, parts: [], value: bias[row] }, ...terms] : terms;
}

/** W with its letter below. */
function matrixName(letter) {
  return ["W", h("sub", null, letter)];
}

/** The worked example in full: every matrix, every vector. */
function exampleProjections({ inside, work, choice, change }, number) {
  const { queryWeight, keyWeight, valueWeight } = EXAMPLE;
  const { key_labels: tokens, key_inputs: inputs } = inside;
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
          rows: projectionRows(queryWeight, dimension, inside.x),
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
