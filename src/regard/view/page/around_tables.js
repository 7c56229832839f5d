/** Vectors number by number, side by side: the first few, and a button for all of them. */

import { layerNorm } from "./around_arithmetic.js";
import { clear, h } from "./make.js";
import { numberNode } from "./inside_parts.js";
import { t } from "./text.js";

const NUMBERS_SHOWN = 6;

/** A table with a row for each number of some vectors. columns: [{title, values}]. */
export function numbersTable(columns, caption) {
  const count = columns[0].values.length;
  const body = h("tbody");
  const show = (shown) =>
    clear(
      body,
      Array.from({ length: shown }, (_, index) => numbersRow(columns, index)),
      shown < count && moreRow(columns.length + 1, count - shown, () => show(count)),
    );
  show(count <= NUMBERS_SHOWN + 1 ? count : NUMBERS_SHOWN);
  const head = h(
    "tr",
    null,
    h("th", { scope: "col" }, t("around.number")),
    columns.map(({ title }) => h("th", { scope: "col" }, title)),
  );
  return h(
    "div",
    { class: "table-scroll", tabindex: "0", role: "group", "aria-label": caption },
    h("table", { class: "numbers along" }, h("caption", { class: "only-heard" }, caption), h("thead", null, head), body),
  );
}

function numbersRow(columns, index) {
  return h(
    "tr",
    null,
    h("th", { scope: "row" }, index + 1),
    columns.map(({ values }) => h("td", null, numberNode(values[index]))),
  );
}

function moreRow(width, count, showAll) {
  const button = h("button", { type: "button", class: "link", onclick: showAll }, t("around.more_numbers", { count }));
  return h("tr", null, h("td", { class: "term", colspan: String(width) }, button));
}

/** A short list of named numbers: [[name, value]]. */
function numberFacts(facts) {
  return h(
    "ul",
    { class: "adding" },
    facts.map(([name, value]) => h("li", null, name, " ", numberNode(value))),
  );
}

/** Mean and deviation, and what becomes of each number; with `columns` of what comes before. */
export function normNumbers(norm, { from, to }, caption, columns = null) {
  const { mean, deviation, standard, output } = layerNorm(norm);
  return h(
    "div",
    { class: "stack" },
    numberFacts([
      [t("around.mean"), mean],
      [t("around.deviation"), deviation],
    ]),
    numbersTable(
      [
        ...(columns ?? [{ title: from, values: norm.x }]),
        { title: "(… − μ) ÷ σ", values: standard },
        { title: "× g", values: norm.gain },
        { title: "+ b", values: norm.bias },
        { title: `= ${to}`, values: output },
      ],
      caption,
    ),
  );
}
