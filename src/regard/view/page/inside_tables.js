/** Tables with a row for each key: from its score to its weight. */

import { shade } from "./colour.js";
import { h } from "./make.js";
import { numberNode } from "./inside_parts.js";
import { pieceLabel } from "./pieces.js";
import { t } from "./text.js";

const MOST_ROWS = 24;

/** The keys that have a row: all of them, or the most looked-at and the chosen one where there are too many. */
export function rowsShown(weights, chosen, isWhole) {
  const all = weights.map((_, key) => key);
  if (isWhole || all.length <= MOST_ROWS) return all;
  const most = new Set([...all].sort((one, two) => weights[two] - weights[one]).slice(0, MOST_ROWS));
  return all.filter((key) => most.has(key) || key === chosen);
}

/**
 * A table of keys. columns: [{title, values, kind}] where kind is "number" (the default), "weight" (with its colour),
 * "other" (what a switch makes of it) or "text"; choosing a row's key calls `choose(key)`. Rows may be other things than keys: they have
 * a heading and a name for the focus of their own then.
 */
export function keyTable({ labels, keys, chosen, choose, columns, caption, heading = t("inside.key"), focus = "key" }) {
  const head = h(
    "tr",
    null,
    h("th", { scope: "col" }, heading),
    columns.map(({ title, kind }) => h("th", { scope: "col", class: kind === "other" ? "other" : null }, title)),
  );
  const body = keys.map((key) =>
    h(
      "tr",
      { class: key === chosen ? "is-chosen" : null },
      h("th", { scope: "row" }, keyButton(labels[key], { key, chosen, choose, focus })),
      columns.map((column) => keyCell(column, key)),
    ),
  );
  return h(
    "div",
    { class: "table-scroll", tabindex: "0", role: "group", "aria-label": caption },
    h("table", { class: "numbers keys" }, h("caption", { class: "only-heard" }, caption), h("thead", null, head), h("tbody", null, body)),
  );
}

function keyButton(label, { key, chosen, choose, focus }) {
  if (!choose) return h("span", { dir: "auto" }, pieceLabel(label));
  const attributes = {
    type: "button",
    class: "key-button",
    dir: "auto",
    "data-focus": `${focus}-${key}`,
    "aria-pressed": String(key === chosen),
  };
  return h("button", { ...attributes, onclick: () => choose(key) }, pieceLabel(label));
}

function keyCell({ values, kind }, key) {
  const value = values[key];
  if (kind === "text") return h("td", { class: "told" }, value);
  const tint = kind === "weight" ? { "box-shadow": `inset 4px 0 0 ${shade(value)}` } : null;
  return h("td", { class: kind === "other" ? "other" : null, style: tint ?? {} }, numberNode(value));
}
