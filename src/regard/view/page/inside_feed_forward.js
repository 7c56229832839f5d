/** The feed-forward network after the attentions: wider, bent, narrow again; each number as the sum that it is. */

import { activated } from "./around_arithmetic.js";
import { aroundFormula } from "./around_formulas.js";
import { productTerms } from "./inside_arithmetic.js";
import { dimensionField, numberNode, stepCard, subscript, timesParts, vectorRow, writtenSum } from "./inside_parts.js";
import { h } from "./make.js";
import { pieceLabel } from "./pieces.js";
import { t } from "./text.js";

const ACTIVATION_NAMES = { relu: "ReLU", gelu: "GELU", silu: "SiLU" };

/** How people write the name of an activation. */
export function activationName(name) {
  return ACTIVATION_NAMES[name];
}

/** W_1 and the activation. */
export function widenStep({ inside, change }, number, isHalf) {
  const { feed_forward: network, sub_layers } = inside.block;
  const label = pieceLabel(inside.query_label);
  const letter = sub_layers.at(-1).pre_norm ? "y" : "x";
  const chosen = network.inner_number;
  const choose = (inner) => change({ inner });
  const name = activationName(network.activation);
  const rows = networkRows(network.inner_weight, chosen, network.x, network.inner_bias, { matrix: 1, letter });
  const total = rows ? rows.reduce((sum, { value }) => sum + value, 0) : network.inner[chosen];
  return stepCard(
    {
      number,
      title: t("around.widen_title", { activation: name }),
      formula: aroundFormula("feedForward", { activation: name, from: letter }),
      text: `${t("around.widen_text", { width: network.x.length, inner: network.inner.length })} ${t(`around.${network.activation}_text`)}`,
      isHalf,
    },
    h(
      "dl",
      { class: "vectors" },
      vectorRow(letter, label, network.x),
      vectorRow(`W₁${letter}`, label, network.inner, { chosen, onDimension: choose }),
      vectorRow("a", label, network.activated, { chosen, onDimension: choose }),
    ),
    dimensionField(t("inside.which_number"), network.inner.length, chosen, choose),
    rows ? writtenSum({ rows, total, totalLabel: `(W₁ ${letter} + b₁)${subscript(chosen + 1)}` }) : leftOut(),
    h(
      "p",
      { class: "bent" },
      `a${subscript(chosen + 1)} = ${name}(`,
      numberNode(total),
      ") = ",
      numberNode(activated(network.activation, total)),
    ),
  );
}

/** W_2. */
export function narrowStep({ inside, change }, number, isHalf) {
  const { feed_forward: network } = inside.block;
  const chosen = network.outer_number;
  const choose = (outer) => change({ outer });
  const rows = networkRows(network.outer_weight, chosen, network.activated, network.outer_bias, { matrix: 2, letter: "a" });
  const total = rows ? rows.reduce((sum, { value }) => sum + value, 0) : network.output[chosen];
  return stepCard(
    { number, title: t("around.narrow_title"), formula: null, text: t("around.narrow_text", { width: network.x.length }), isHalf },
    h("dl", { class: "vectors" }, vectorRow("f", pieceLabel(inside.query_label), network.output, { chosen, onDimension: choose })),
    dimensionField(t("inside.which_number"), network.output.length, chosen, choose),
    rows ? writtenSum({ rows, total, totalLabel: `f${subscript(chosen + 1)}` }) : leftOut(),
  );
}

/** The terms of one number of a linear layer, its bias first; null where a file has left the matrix out. */
function networkRows(weight, row, vector, bias, { matrix, letter }) {
  if (!weight) return null;
  const terms = productTerms(weight, vector).map(({ left, right, product }, index) => ({
    label: `W${subscript(matrix)} ${subscript(row + 1)},${subscript(index + 1)} ${letter}${subscript(index + 1)}`,
    parts: timesParts(left, right),
    value: product,
  }));
  return bias === null ? terms : [{ label: `${t("inside.bias")} b${subscript(row + 1)}`, parts: [], value: bias }, ...terms];
}

function leftOut() {
  return h("p", { class: "explain" }, t("around.matrices_left_out"));
}
