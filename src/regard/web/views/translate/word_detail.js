/** One word in detail: its probability, what it attends to, and a link to the arithmetic. */

import { WeightBars } from "../../components/weight_bars.js";
import { t } from "../../core/i18n.js";
import { h } from "../../core/ui.js";
import { attendedWords, wordProbability } from "../../math/alignment.js";
import { realWords } from "../../math/tokens.js";

/** @import { Trace, WordAlignment } from "../../data/backend.js" */
/** @import { WordPlace } from "../../math/alignment.js" */

/**
 * @param {object} props
 * @param {Trace} props.trace
 * @param {WordAlignment} props.alignment
 * @param {WordPlace | null} props.word
 * @param {(target: number) => void} props.onArithmetic
 */
export function WordDetail({ trace, alignment, word, onArithmetic }) {
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

/** @param {{ trace: Trace, index: number }} props */
function Probability({ trace, index }) {
  const word = realWords(trace.target)[index];
  if (!word) return null;
  const percent = (wordProbability(trace.log_probabilities, word.pieces) * 100).toFixed(0);
  return h("span", { class: "faint small" }, t("translate.probability", { percent }));
}
