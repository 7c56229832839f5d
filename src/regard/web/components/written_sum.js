// @ts-check
/** A sum written out term by term, and the field that chooses which number of a vector is written out. */

import { t } from "../core/i18n.js";
import { h, useState } from "../core/ui.js";
import { products } from "../math/attention.js";
import { Result } from "./exercise.js";
import { TableScroll } from "./number_table.js";
import { numberSpan } from "./number_text.js";

/** @import { ComponentChildren } from "../core/ui.js" */
/** @import { Matrix, Vector } from "../math/attention.js" */
/** @typedef {{ label: string | number, parts: ComponentChildren, value: number }} Term `parts`: how the value comes about */

const TERMS_SHOWN = 6;

/**
 * The first terms, a button for all of them, and the total as computed.
 * @param {{ terms: Term[], total: number, label: string }} props
 */
export function WrittenSum({ terms, total, label }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole || terms.length <= TERMS_SHOWN + 1 ? terms : terms.slice(0, TERMS_SHOWN);
  const rest = terms.slice(shown.length);
  const row = (/** @type {Term} */ term, /** @type {number | string} */ key) =>
    h(
      "tr",
      { key },
      h("th", { scope: "row" }, term.label),
      h("td", { class: "term" }, term.parts),
      h("td", null, numberSpan(term.value)),
    );
  const more = h(
    "button",
    { type: "button", class: "link", onClick: () => setWhole(true) },
    t("inside.more_terms", { count: rest.length }),
  );
  const restTerm = { label: "…", parts: more, value: rest.reduce((sum, { value }) => sum + value, 0) };
  return h(
    "div",
    { class: "sum" },
    h(
      TableScroll,
      { label, rows: shown.length },
      h(
        "table",
        { class: "numbers terms" },
        h("tbody", null, shown.map(row), rest.length > 0 && row(restTerm, "rest")),
        h(
          "tfoot",
          null,
          h(
            "tr",
            null,
            h("th", { scope: "row", colspan: 2 }, label),
            h("td", null, h(Result, { key: String(total), value: total })),
          ),
        ),
      ),
    ),
  );
}

/**
 * Which number of a vector is written out, counted from one.
 * @param {{ label: string, count: number, chosen: number, onChoose: (index: number) => void }} props
 */
export function DimensionField({ label, count, chosen, onChoose }) {
  const keep = (/** @type {Event} */ event) => {
    const entered = Math.round(Number(/** @type {HTMLInputElement} */ (event.target).value));
    if (entered >= 1 && entered <= count) onChoose(entered - 1);
  };
  return h(
    "label",
    { class: "dimension" },
    label,
    h("input", { type: "number", min: 1, max: count, value: String(chosen + 1), onChange: keep }),
    h("span", { class: "faint" }, `/ ${count}`),
  );
}

/**
 * "0.31 × −0.20" as the middle of a term.
 * @param {number} left
 * @param {number} right
 */
export function timesParts(left, right) {
  return [numberSpan(left), " × ", numberSpan(right)];
}

/**
 * The terms of a dot product.
 * @param {Vector} left
 * @param {Vector} right
 * @param {(index: number) => string | number} label
 * @returns {Term[]}
 */
export function dotTerms(left, right, label = (index) => index + 1) {
  // Labels and parts are made when they are drawn: of the thousands of terms of a wide model, six are.
  return products(left, right).map((term, index) => ({
    get label() {
      return label(index);
    },
    get parts() {
      return timesParts(term.left, term.right);
    },
    value: term.product,
  }));
}

/**
 * The terms of one number of W x, as "W₁,₁ x₁", with the bias first, so that it is seen.
 * @param {object} given
 * @param {Matrix} given.weight
 * @param {number} given.row
 * @param {Vector} given.vector
 * @param {string} given.letter of the vector
 * @param {Vector | null} [given.bias]
 * @returns {Term[]}
 */
export function matrixTerms({ weight, row, vector, letter, bias }) {
  const terms = dotTerms(
    weight[row],
    vector,
    (index) => `W${subscript(row + 1)},${subscript(index + 1)} ${letter}${subscript(index + 1)}`,
  );
  return bias ? [biasTerm(bias[row], row), ...terms] : terms;
}

/**
 * @param {number} value
 * @param {number} row
 * @returns {Term}
 */
export function biasTerm(value, row) {
  return { label: `${t("inside.bias")} b${subscript(row + 1)}`, parts: [], value };
}

/**
 * A whole number in small figures below the line.
 * @param {number} value
 */
export function subscript(value) {
  return [...String(value)].map((digit) => String.fromCodePoint(0x2080 + Number(digit))).join("");
}
