// @ts-check
/** The feed-forward network after the attentions: W_1, the activation, W_2; each number as a sum. */

import { t } from "../../core/i18n.js";
import { h } from "../../core/ui.js";
import { ACTIVATIONS } from "../../math/block.js";
import { BLOCK_FORMULAS } from "../formula.js";
import { numberSpan } from "../number_text.js";
import { withCode } from "../placeholders.js";
import { VectorList } from "../vector_bar_list.js";
import { biasTerm, DimensionField, dotTerms, subscript, WrittenSum } from "../written_sum.js";
import { queryLabel, StepCard } from "./step_card.js";

/** @import { Vector } from "../../math/attention.js" */
/** @import { ActivationName, Block } from "../../math/block.js" */
/** @import { CardProps } from "./step_card.js" */
/** @import { Term } from "../written_sum.js" */

const ACTIVATION_TEXTS = /** @type {const} */ ({
  relu: "block.relu_text",
  gelu: "block.gelu_text",
  gelu_tanh: "block.gelu_text",
  silu: "block.silu_text",
});

/**
 * W_1 and the activation.
 * @param {CardProps} props
 */
export function InnerCard({ step, number, isHalf }) {
  const { feed_forward: network, sublayers } = /** @type {Block} */ (step.detail.block);
  const token = queryLabel(step);
  const letter = sublayers[sublayers.length - 1].pre_norm ? "y" : "x";
  const chosen = network.fc1_row;
  const onChoose = (/** @type {number} */ index) => step.onChange({ fc1_row: String(index) });
  const name = /** @type {ActivationName} */ (network.activation);
  const { label: activation, apply } = ACTIVATIONS[name];
  const terms = rowTerms(network.fc1_weight, network.x, network.fc1_bias, { matrix: 1, row: chosen, letter });
  const total = terms?.reduce((sum, { value }) => sum + value, 0) ?? network.fc1_output[chosen];
  const widths = { width: network.x.length, inner: network.fc1_output.length };
  const gated = network.fc3_output;
  const text = `${t("block.widen_text", widths)} ${t(ACTIVATION_TEXTS[name])}${gated ? ` ${t("block.gated_text")}` : ""}`;
  const rows = [
    { letter, token, values: network.x },
    { letter: `W₁${letter}`, token, values: network.fc1_output, chosen, onChoose },
    { letter: "a", token, values: network.activated, chosen, onChoose },
    ...(gated ? [{ letter: `W₃${letter}`, token, values: gated, chosen, onChoose }] : []),
  ];
  return h(
    StepCard,
    {
      number,
      title: t("block.widen_title", { activation }),
      formula: BLOCK_FORMULAS.feedForward({ activation, from: letter }),
      text,
      isHalf,
    },
    h(VectorList, { rows }),
    h(DimensionField, { label: t("inside.which_number"), count: network.fc1_output.length, chosen, onChoose }),
    h(RowSum, { terms, total, label: `(W₁ ${letter} + b₁)${subscript(chosen + 1)}` }),
    h(
      "p",
      { class: "bent" },
      `a${subscript(chosen + 1)} = ${activation}(`,
      numberSpan(total),
      ") = ",
      numberSpan(apply(total)),
    ),
  );
}

/**
 * W_2.
 * @param {CardProps} props
 */
export function OuterCard({ step, number, isHalf }) {
  const { feed_forward: network } = /** @type {Block} */ (step.detail.block);
  const chosen = network.fc2_row;
  const onChoose = (/** @type {number} */ index) => step.onChange({ fc2_row: String(index) });
  const { activated, fc3_output: gated } = network;
  const inner = gated ? activated.map((value, index) => value * gated[index]) : activated;
  const terms = rowTerms(network.fc2_weight, inner, network.fc2_bias, {
    matrix: 2,
    row: chosen,
    letter: gated ? "g" : "a",
  });
  const total = terms?.reduce((sum, { value }) => sum + value, 0) ?? network.output[chosen];
  return h(
    StepCard,
    { number, title: t("block.narrow_title"), text: t("block.narrow_text", { width: network.x.length }), isHalf },
    h(VectorList, { rows: [{ letter: "f", token: queryLabel(step), values: network.output, chosen, onChoose }] }),
    h(DimensionField, { label: t("inside.which_number"), count: network.output.length, chosen, onChoose }),
    h(RowSum, { terms, total, label: `f${subscript(chosen + 1)}` }),
  );
}

/**
 * The terms of one number of a linear layer, its bias first; null where a file has left the matrix out.
 * @param {Vector | null} weight
 * @param {Vector} vector
 * @param {number | null} bias
 * @param {{ matrix: number, row: number, letter: string }} names
 * @returns {Term[] | null}
 */
function rowTerms(weight, vector, bias, { matrix, row, letter }) {
  if (!weight) return null;
  const label = (/** @type {number} */ index) =>
    `W${subscript(matrix)} ${subscript(row + 1)},${subscript(index + 1)} ${letter}${subscript(index + 1)}`;
  const terms = dotTerms(weight, vector, label);
  return bias === null ? terms : [biasTerm(bias, row), ...terms];
}

/** @param {{ terms: Term[] | null, total: number, label: string }} props */
function RowSum({ terms, total, label }) {
  return terms
    ? h(WrittenSum, { terms, total, label })
    : h("p", { class: "explain" }, withCode(t("block.matrices_left_out")));
}
