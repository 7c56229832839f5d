// @ts-check
/** Tables of numbers: a matrix in full, vectors side by side, a layer norm, a row for each key. */

import { shade } from "../charts/colour.js";
import { t } from "../core/i18n.js";
import { useLostFocus } from "../core/query.js";
import { isDark } from "../core/theme.js";
import { h, useState } from "../core/ui.js";
import { layerNorm } from "../math/block.js";
import { tokenLabel } from "../math/tokens.js";
import { hidesResults, Result } from "./exercise.js";
import { numberSpan, shortText } from "./number_text.js";

/** @import { ComponentChildren } from "../core/ui.js" */
/** @import { Norm } from "../math/block.js" */

const ROWS_SHOWN = 6;

/**
 * A table that scrolls sideways by itself. It takes the focus of a button that was for more rows.
 * @param {{ label: string, rows?: number, children?: ComponentChildren }} props
 */
export function TableScroll({ label, rows, children }) {
  const ref = useLostFocus(rows);
  return h("div", { ref, class: "table-scroll", tabindex: 0, role: "group", "aria-label": label }, children);
}

/** @typedef {{ rows: number[][], caption: ComponentChildren, rowLabels?: string[], columnLabels?: string[], areResults?: boolean }} MatrixProps areResults: an exercise hides them */

/**
 * A small vector or matrix in full, without needless zeros.
 * @param {MatrixProps} props
 */
export function MatrixTable({ rows, caption, rowLabels, columnLabels, areResults = false }) {
  const isHidden = areResults && hidesResults.value;
  const head = columnLabels?.map((label) => h("th", { key: label, scope: "col" }, label));
  const body = rows.map((row, index) =>
    h(
      "tr",
      { key: rowLabels?.[index] ?? index },
      rowLabels && h("th", { scope: "row" }, rowLabels[index]),
      row.map((value) =>
        isHidden
          ? h("td", null, h(Result, { key: String(value), value }))
          : h("td", { "data-value": String(value) }, shortText(value)),
      ),
    ),
  );
  return h(
    "div",
    { class: "matrix-block" },
    h(
      "table",
      { class: "numbers matrix" },
      h("caption", null, caption),
      head && h("thead", null, h("tr", null, rowLabels && h("td", null), head)),
      h("tbody", null, body),
    ),
  );
}

/** @typedef {{ title: string, values: number[] }} NumberColumn */

/**
 * Vectors side by side, a row for each of their numbers: the first few, and a button for all of them.
 * @param {{ columns: NumberColumn[], caption: string }} props
 */
export function NumberTable({ columns, caption }) {
  const [isWhole, setWhole] = useState(false);
  const count = columns[0].values.length;
  const shown = isWhole || count <= ROWS_SHOWN + 1 ? count : ROWS_SHOWN;
  const rows = Array.from({ length: shown }, (_, index) =>
    h(
      "tr",
      { key: index },
      h("th", { scope: "row" }, index + 1),
      columns.map(({ values }) => h("td", null, numberSpan(values[index]))),
    ),
  );
  const more = h(
    "button",
    { type: "button", class: "link", onClick: () => setWhole(true) },
    t("block.more_numbers", { count: count - shown }),
  );
  return h(
    TableScroll,
    { label: caption, rows: shown },
    h(
      "table",
      { class: "numbers along" },
      h("caption", { class: "only-heard" }, caption),
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          h("th", { scope: "col" }, t("block.number")),
          columns.map(({ title }) => h("th", { scope: "col" }, title)),
        ),
      ),
      h(
        "tbody",
        null,
        rows,
        shown < count && h("tr", { key: "more" }, h("td", { class: "term", colspan: columns.length + 1 }, more)),
      ),
    ),
  );
}

/**
 * Named numbers in a line.
 * @param {{ facts: [name: string, value: number][] }} props
 */
export function NumberList({ facts }) {
  return h(
    "ul",
    { class: "adding" },
    facts.map(([name, value]) => h("li", { key: name }, name, " ", numberSpan(value))),
  );
}

/**
 * Mean and deviation of a layer norm, and what becomes of each number; `before`: the columns in place of the norm's input.
 * @param {{ norm: Norm, from: string, to: string, caption: string, before?: NumberColumn[] }} props
 */
export function NormTable({ norm, from, to, caption, before }) {
  const { mean, deviation, standard, output } = layerNorm(norm);
  const columns = [
    ...(before ?? [{ title: from, values: norm.x }]),
    { title: "(… − μ) ÷ σ", values: standard },
    { title: "× g", values: norm.gain },
    { title: "+ b", values: norm.bias },
    { title: `= ${to}`, values: output },
  ];
  const facts = /** @type {[string, number][]} */ ([
    [t("block.mean"), mean],
    [t("block.deviation"), deviation],
  ]);
  return h("div", { class: "stack" }, h(NumberList, { facts }), h(NumberTable, { columns, caption }));
}

/**
 * A column of a table of keys: numbers, weights with their colour, numbers after something was switched off, or text.
 * @typedef {{ title: string, values: number[], kind?: "weight" | "changed" } | { title: string, values: string[], kind: "text" }} KeyColumn
 */

/**
 * A table with a row for each key, or for each of other things under another heading; a row is chosen by its name.
 * @param {object} props
 * @param {string[]} props.labels of all keys
 * @param {number[]} props.keys those that have a row
 * @param {number} props.chosen
 * @param {(key: number) => void} props.onChoose
 * @param {KeyColumn[]} props.columns
 * @param {string} props.caption
 * @param {string} [props.heading]
 * @param {(token: string) => string} [props.labelOf]
 */
export function KeyTable({
  labels,
  keys,
  chosen,
  onChoose,
  columns,
  caption,
  heading = t("inside.key"),
  labelOf = tokenLabel,
}) {
  const dark = isDark.value;
  const head = columns.map(({ title, kind }) =>
    h("th", { scope: "col", class: kind === "changed" ? "other" : null }, title),
  );
  const rows = keys.map((key) => {
    const button = {
      type: "button",
      class: "key-button",
      dir: "auto",
      "data-key": key,
      "aria-pressed": key === chosen,
    };
    return h(
      "tr",
      { key, class: key === chosen ? "is-chosen" : null },
      h("th", { scope: "row" }, h("button", { ...button, onClick: () => onChoose(key) }, labelOf(labels[key]))),
      columns.map((column) => keyCell(column, key, dark)),
    );
  });
  return h(
    TableScroll,
    { label: caption, rows: keys.length },
    h(
      "table",
      { class: "numbers keys" },
      h("caption", { class: "only-heard" }, caption),
      h("thead", null, h("tr", null, h("th", { scope: "col" }, heading), head)),
      h("tbody", null, rows),
    ),
  );
}

/**
 * @param {KeyColumn} column
 * @param {number} key
 * @param {boolean} dark
 */
function keyCell(column, key, dark) {
  if (column.kind === "text") return h("td", { class: "told" }, column.values[key]);
  const value = column.values[key];
  const isShaded = column.kind === "weight" && !hidesResults.value;
  const style = isShaded ? { "box-shadow": `inset 4px 0 0 ${shade(value, dark)}` } : undefined;
  const result = h(Result, { key: String(value), value });
  return h("td", { class: column.kind === "changed" ? "other" : null, style }, result);
}
