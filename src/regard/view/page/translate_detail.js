/** One word in full: how sure the model was of it, what it looks at and how much; and the n-best list. */

import { shade } from "./colour.js";
import { h } from "./make.js";
import { t } from "./text.js";

const MOST_SOURCES = 4;

/** The words of a side without <s> and </s>, as {spelled, pieces}. */
export function realWords(side) {
  return side.words
    .map((pieces, index) => ({ pieces, spelled: side.spelled[index] }))
    .filter(({ pieces }) => !["<s>", "</s>"].includes(side.pieces[pieces[0]]));
}

/** The probability of a target word: the product of its pieces'; the piece at i is said with log_probabilities[i - 1]. */
export function wordProbability(trace, pieces) {
  return Math.exp(pieces.reduce((sum, piece) => sum + trace.log_probabilities[piece - 1], 0));
}

/** What is known about the active word; `onInside(side, index)` leads to its arithmetic. */
export function wordDetail({ trace, alignment, side, index, onInside }) {
  if (side === null || !alignment) return h("p", { class: "faint word-hint" }, t("translate.hint"));
  const isTarget = side === "target";
  const spelled = (isTarget ? alignment.target_words : alignment.source_words)[index];
  const looked = lookedAt(alignment, isTarget, index);
  return h(
    "div",
    { class: "word-detail" },
    h("p", null, h("b", { dir: "auto" }, spelled), isTarget && probabilityText(trace, index)),
    h("p", { class: "faint small" }, t(isTarget ? "translate.looked_at" : "translate.looked_by")),
    h("ul", { class: "bars" }, looked.map(weightBar)),
    isTarget && h("button", { type: "button", class: "link", onclick: () => onInside(index) }, t("translate.arithmetic")),
  );
}

/** The same in one sentence, for those who hear the page. */
export function spokenDetail({ alignment, side, index }) {
  const isTarget = side === "target";
  const spelled = (isTarget ? alignment.target_words : alignment.source_words)[index];
  const looked = lookedAt(alignment, isTarget, index).map(({ word, weight }) => `${word} ${weight.toFixed(2)}`);
  return `${spelled}: ${looked.join(", ")}`;
}

function probabilityText(trace, index) {
  const word = realWords(trace.target)[index];
  if (!word) return null;
  const percent = (wordProbability(trace, word.pieces) * 100).toFixed(0);
  return [" ", h("span", { class: "faint small" }, t("translate.probability", { percent }))];
}

/** The words most looked at, what went to the end of the source, and what is left: a row sums to one over all tokens. */
function lookedAt({ source_words, target_words, weights }, isTarget, index) {
  const words = isTarget ? source_words : target_words;
  const most = words
    .map((word, other) => ({ word, weight: isTarget ? weights[index][other] : weights[other][index] }))
    .sort((one, two) => two.weight - one.weight)
    .slice(0, MOST_SOURCES);
  if (!isTarget) return most;
  const [all, told] = [weights[index], most.map(({ weight }) => weight)].map((some) => some.reduce((sum, weight) => sum + weight, 0));
  const others = { word: t("translate.others"), weight: all - told, isMark: true };
  return [...most, { word: "</s>", weight: Math.max(0, 1 - all), isMark: true }, ...(words.length > most.length ? [others] : [])];
}

function weightBar({ word, weight, isMark = false }) {
  const style = { width: `${Math.max(0.5, Math.min(1, weight) * 100)}%`, "background-color": shade(0.25 + 0.7 * weight) };
  return h(
    "li",
    null,
    h("span", { class: isMark ? "bar-word faint" : "bar-word", dir: isMark ? "ltr" : "auto" }, word),
    h("span", { class: "bar-track", "aria-hidden": "true" }, h("span", { class: "bar", style })),
    h("span", { class: "number" }, weight.toFixed(3)),
  );
}

/** The best outputs with their scores; the one that is looked at is pressed. */
export function outputList(outputs, chosenText, onOutput) {
  const rows = outputs.map((output, rank) =>
    h(
      "li",
      null,
      h(
        "button",
        { type: "button", class: "output", "aria-pressed": String(output.text === chosenText), onclick: () => onOutput(output) },
        h("span", { class: "output-rank", "aria-hidden": "true" }, rank + 1),
        h("span", { class: "output-text", dir: "auto" }, output.text || "∅"),
        h(
          "span",
          { class: "number", title: t("translate.score_long", { log_probability: output.log_probability.toFixed(3) }) },
          output.score.toFixed(3),
        ),
      ),
    ),
  );
  return h("ol", { class: "outputs" }, rows);
}
