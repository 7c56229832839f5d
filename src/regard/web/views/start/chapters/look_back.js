// @ts-check
/** Look back: a score for each word. A learned weight is fixed, attention changes with the input. */

import { Segmented } from "../../../components/controls.js";
import { t } from "../../../core/i18n.js";
import { h } from "../../../core/ui.js";
import { argmax } from "../../../math/attention.js";
import { DECODER_STATES, FIXED_WEIGHTS, lookBack, SENTENCES } from "../../../math/lesson.js";
import { ScoreTable, shortNumber, Verdict } from "../parts.js";

/** @import { Chapter, ResultProps } from "../chapter.js" */

const CAT = SENTENCES[0].indexOf("cat");

/** @type {Chapter} */
export const lookBackChapter = {
  id: "look-back",
  title: "start.look_back_title",
  idea: "start.look_back_idea",
  question: "start.look_back_question",
  answers: () => [
    ["both", t("start.look_back_both")],
    ["attention", t("start.look_back_attention")],
    ["fixed", t("start.look_back_fixed")],
    ["neither", t("start.look_back_neither")],
  ],
  Setup,
  Result,
  link: {
    text: "start.look_back_link",
    state: { view: "translate", model: "en-fr-rnn-attention", text: "She has a black cat and a white dog." },
  },
};

function Setup() {
  return h(
    "div",
    { class: "lesson-grid" },
    SENTENCES.map((words, index) =>
      h(
        "p",
        { key: index, class: "sample", lang: "en" },
        words.map((word, place) => [place > 0 && " ", word === "cat" ? h("b", null, word) : word]),
      ),
    ),
  );
}

/** @param {ResultProps} props */
function Result({ store, guess, setting, onSetting }) {
  const names = Object.keys(DECODER_STATES);
  const name = names.includes(setting) ? setting : "chat";
  const state = DECODER_STATES[name];
  const results = SENTENCES.map((words) => ({ words, ...lookBack(words, state) }));
  const [fixed, attention] = [FIXED_WEIGHTS, lookBack(SENTENCES[1], DECODER_STATES.chat).weights].map(
    (weights) => SENTENCES[1][argmax(weights)] === "cat",
  );
  const right = attention ? (fixed ? "both" : "attention") : fixed ? "fixed" : "neither";
  return [
    h(Verdict, { store, guess, right, answers: lookBackChapter.answers() }, t("start.look_back_explained")),
    h(
      "div",
      { class: "field" },
      t("start.look_back_next"),
      h(Segmented, {
        label: t("start.look_back_next"),
        options: names.map((word) => /** @type {[string, string]} */ ([word, word])),
        value: name,
        onChange: (/** @type {string} */ word) => onSetting(word === "chat" ? "" : word),
      }),
    ),
    h(
      "p",
      { class: "faint small" },
      t("start.look_back_state", {
        state: state.map(shortNumber).join(", "),
        word: results[0].states[CAT].map(shortNumber).join(", "),
        score: shortNumber(results[0].scores[CAT]),
      }),
    ),
    h(
      "div",
      { class: "lesson-grid" },
      results.flatMap(({ words, scores, weights }, index) => [
        h(ScoreTable, {
          key: `fixed${index}`,
          title: t("start.look_back_fixed_weights"),
          note: words.join(" "),
          words,
          weights: FIXED_WEIGHTS,
        }),
        h(ScoreTable, {
          key: `attention${index}`,
          title: t("start.look_back_attention_weights"),
          note: words.join(" "),
          words,
          scores,
          weights,
        }),
      ]),
    ),
  ];
}
