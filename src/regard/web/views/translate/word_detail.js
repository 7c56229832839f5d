/** One word in detail: its probability, what it attends to, and a link to the arithmetic. */

import { WeightBars } from "../../components/weight_bars.js";
import { t } from "../../core/i18n.js";
import { h } from "../../core/ui.js";
import { attendedWords, wordProbability } from "../../math/alignment.js";
import { realWords } from "../../math/tokens.js";

/** @import { ContributionsResponse, Trace, WordAlignment } from "../../data/backend.js" */
/** @import { WordPlace } from "../../math/alignment.js" */

/**
 * @param {object} props
 * @param {Trace} props.trace
 * @param {WordAlignment} props.alignment
 * @param {WordPlace | null} props.word
 * @param {ContributionsResponse | null} props.shares null: not known of this model
 * @param {(target: number) => void} props.onArithmetic
 */
export function WordDetail({ trace, alignment, word, shares, onArithmetic }) {
  if (!word) return h("p", { class: "faint word-hint" }, t("translate.hint"));
  const isTarget = word.side === "target";
  return h(
    "div",
    { class: "word-detail" },
    h(
      "p",
      null,
      h("b", { dir: "auto" }, labelOf(alignment, word)),
      isTarget && [" ", h(Probability, { trace, index: word.index })],
    ),
    isTarget && shares && h(SourceAndPrefix, { trace, word: word.index, shares }),
    h("p", { class: "faint small" }, t(isTarget ? "translate.attends_to" : "translate.attended_by")),
    h(WeightBars, { weights: attendedWords(alignment, word, t("translate.others")) }),
    isTarget &&
      h(
        "button",
        { type: "button", class: "link", onClick: () => onArithmetic(word.index) },
        t("translate.arithmetic"),
      ),
  );
}

/**
 * The same in one sentence, for a screen reader.
 * @param {WordAlignment} alignment
 * @param {WordPlace} word
 */
export function describeWord(alignment, word) {
  const weights = attendedWords(alignment, word, t("translate.others")).map(
    ({ word: other, weight }) => `${other} ${weight.toFixed(2)}`,
  );
  return `${labelOf(alignment, word)}: ${weights.join(", ")}`;
}

/**
 * @param {WordAlignment} alignment
 * @param {WordPlace} word
 */
function labelOf({ source_words, target_words }, { side, index }) {
  return (side === "target" ? target_words : source_words)[index];
}

/**
 * How much of a word's prediction comes from the source, and how much from the words before it.
 * @param {{ trace: Trace, word: number, shares: ContributionsResponse }} props
 */
function SourceAndPrefix({ trace, word, shares }) {
  const rows = realWords(trace.target)[word].pieces.map((piece) => piece - 1); // the row before a token outputs it
  const source = rows.reduce((sum, row) => sum + shares.source[row], 0) / rows.length;
  const percent = (/** @type {number} */ share) => (100 * share).toFixed(0);
  return h(
    "p",
    { class: "small", title: t("translate.shares_hint") },
    t("translate.shares", { source: percent(source), prefix: percent(1 - source) }),
    h("meter", { class: "shares", min: 0, max: 1, value: source, "aria-hidden": "true" }),
  );
}

/** @param {{ trace: Trace, index: number }} props */
function Probability({ trace, index }) {
  const word = realWords(trace.target)[index];
  if (!word) return null;
  const percent = (wordProbability(trace.log_probabilities, word.pieces) * 100).toFixed(0);
  return h("span", { class: "faint small" }, t("translate.probability", { percent }));
}
