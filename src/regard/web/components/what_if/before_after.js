/** The output before and after the changes, side by side; and the next token that the model predicts in both cases. */

import { t } from "../../core/i18n.js";
import { h } from "../../core/ui.js";
import { markedWords } from "../../math/text_diff.js";
import { readableToken } from "../../math/tokens.js";

/** @import { PredictedToken } from "../../data/backend.js" */
/** @typedef {{ token: string, before: number | null, after: number | null, isChosen: boolean }} TokenPair null: not among the most probable */

const MOST_TOKENS = 6;

/**
 * @param {object} props
 * @param {string | null} props.before null while it loads
 * @param {string | null} props.after
 * @param {[before: number, after: number] | null} props.logProbabilities of the output before
 */
export function OutputPair({ before, after, logProbabilities }) {
  const isSame = before !== null && before === after;
  const box = (/** @type {string} */ title, /** @type {string | null} */ text, /** @type {string | null} */ other) =>
    h(
      "div",
      { class: "what-if-output" },
      h("h3", null, title),
      h("p", { class: "growing", dir: "auto" }, text === null ? "…" : h(MarkedText, { text, other: other ?? text })),
    );
  const change = logProbabilities && {
    before: logProbabilities[0].toFixed(2),
    after: logProbabilities[1].toFixed(2),
  };
  return [
    h(
      "div",
      { key: "outputs", class: "what-if-outputs" },
      box(t("what_if.before"), before, after),
      box(t("what_if.after"), after, before),
    ),
    h(
      "p",
      { key: "note", class: "faint small", role: "status" },
      isSame && t("what_if.same_output"),
      " ",
      change && t("what_if.log_probability", change),
    ),
  ];
}

/** @param {{ text: string, other: string }} props */
function MarkedText({ text, other }) {
  if (!text) return "∅";
  return markedWords(text, other).map(({ word, differs }) => [differs ? h("mark", null, word) : word, " "]);
}

/**
 * The most probable next tokens, with their probabilities before and after.
 * @param {{ before: PredictedToken[], after: PredictedToken[] | null }} props
 */
export function PredictionBars({ before, after }) {
  const floors = [before, after ?? []].map((tokens) => Math.min(1, ...tokens.map(({ probability }) => probability)));
  const row = (/** @type {TokenPair} */ { token, before: first, after: second, isChosen }) =>
    h(
      "tr",
      { key: token },
      h("th", { scope: "row", dir: "auto" }, readableToken(token), isChosen && " ◀"),
      h("td", null, h(Bar, { share: first, floor: floors[0], kind: "before" })),
      after && h("td", null, h(Bar, { share: second, floor: floors[1], kind: "after" })),
    );
  return h(
    "table",
    { class: "prediction-bars" },
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        h("th", { scope: "col" }, t("block.token")),
        h("th", { scope: "col" }, t("what_if.before")),
        after && h("th", { scope: "col" }, t("what_if.after")),
      ),
    ),
    h("tbody", null, tokenPairs(before, after ?? []).map(row)),
  );
}

/** @param {{ share: number | null, floor: number, kind: string }} props floor: the least probability that is known */
function Bar({ share, floor, kind }) {
  const text = share === null ? `< ${floor.toFixed(3)}` : share.toFixed(3);
  return [
    h("span", { class: "number" }, text),
    h(
      "span",
      { class: "bar-track", "aria-hidden": "true" },
      h("span", { class: `bar ${kind}`, style: { width: `${100 * (share ?? 0)}%` } }),
    ),
  ];
}

/**
 * The tokens that are most probable before or after, by the larger of both probabilities.
 * @param {PredictedToken[]} before
 * @param {PredictedToken[]} after
 * @returns {TokenPair[]}
 */
export function tokenPairs(before, after) {
  /** @type {Map<string, TokenPair>} */
  const pairs = new Map();
  const add = (
    /** @type {PredictedToken} */ { piece, probability, is_chosen },
    /** @type {"before" | "after"} */ when,
  ) => {
    const known = pairs.get(piece) ?? { token: piece, before: null, after: null, isChosen: false };
    pairs.set(piece, { ...known, [when]: probability, isChosen: known.isChosen || (when === "before" && is_chosen) });
  };
  for (const token of before) add(token, "before");
  for (const token of after) add(token, "after");
  const largest = (/** @type {TokenPair} */ pair) => Math.max(pair.before ?? 0, pair.after ?? 0);
  const sorted = [...pairs.values()].sort((first, second) => largest(second) - largest(first));
  return sorted.filter(({ isChosen }, rank) => rank < MOST_TOKENS || isChosen);
}
