/** The general score's own matrix: what becomes of the chosen key before the query is compared with it. */

import { dimensionField, matrixTerms, subscript, vectorRow, writtenSum } from "./inside_parts.js";
import { h } from "./make.js";
import { pieceLabel } from "./pieces.js";
import { t } from "./text.js";

/** W k as bars, and one of its numbers as the sum that it is. */
export function preparedKey({ inside, work, choice, change }) {
  const { weight, unprepared_keys } = inside.general;
  const prepared = work.keys[choice.key];
  const dimension = Math.min(choice.preparedDimension, prepared.length - 1);
  const choose = (chosen) => change({ preparedDimension: chosen });
  const label = pieceLabel(inside.key_labels[choice.key]);
  return h(
    "div",
    { class: "stack prepared" },
    h("dl", { class: "vectors" }, vectorRow("W k", label, prepared, { chosen: dimension, onDimension: choose })),
    dimensionField(t("inside.which_number"), prepared.length, dimension, choose),
    writtenSum({
      rows: matrixTerms(weight, dimension, unprepared_keys[choice.key], "k"),
      total: prepared[dimension],
      totalLabel: `(W k)${subscript(dimension + 1)}`,
    }),
  );
}
