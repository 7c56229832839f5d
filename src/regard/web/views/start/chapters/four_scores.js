// @ts-check
/** Four score functions on the same query and keys: attentions differ in nothing else. */

import { Slider } from "../../../components/controls.js";
import { ATTENTION_FORMULAS } from "../../../components/formula.js";
import { SCORE_FUNCTIONS } from "../../../components/score_functions.js";
import { t } from "../../../core/i18n.js";
import { h } from "../../../core/ui.js";
import { numberParam } from "../../../core/url.js";
import { SCORE_PARAMETERS, SENTENCES, scoreWords } from "../../../math/lesson.js";
import { ScoreTable, Verdict } from "../parts.js";

/** @typedef {keyof typeof SCORE_PARAMETERS} LessonScore */
/** @import { Chapter, ResultProps } from "../chapter.js" */

const LONGEST = 10; // times the query
const NAMES = /** @type {LessonScore[]} */ (Object.keys(SCORE_PARAMETERS));

/** @type {Chapter} */
export const fourScoresChapter = {
  id: "four-scores",
  title: "start.four_scores_title",
  idea: "start.four_scores_idea",
  question: "start.four_scores_question",
  answers: () => NAMES.map((name) => [name, t(SCORE_FUNCTIONS[name].label)]),
  Result,
  link: {
    text: "start.four_scores_link",
    state: { view: "inside", mode: "own", model: "en-fr-rnn-attention", text: "She has a black cat and a white dog." },
  },
};

/** @param {ResultProps} props */
function Result({ store, guess, setting, onSetting }) {
  const factor = numberParam(setting, { min: 1, max: LONGEST });
  const bound = SCORE_PARAMETERS.additive.vector[0].reduce((sum, value) => sum + Math.abs(value), 0);
  const growth = Object.fromEntries(NAMES.map((name) => [name, largestScore(name, LONGEST) / largestScore(name, 1)]));
  const right = NAMES.reduce((least, name) => (growth[name] < growth[least] ? name : least));
  return [
    h(
      Verdict,
      { store, guess, right, answers: fourScoresChapter.answers() },
      t("start.four_scores_explained", { bound }),
    ),
    h(Slider, {
      label: t("start.four_scores_length"),
      min: 1,
      max: LONGEST,
      value: factor,
      format: (value) => `× ${value}`,
      onChange: (value) => onSetting(value === 1 ? "" : String(value)),
    }),
    h(
      "div",
      { class: "lesson-grid" },
      NAMES.map((name) => {
        const { label, formula } = SCORE_FUNCTIONS[name];
        const note = name === "scaled_dot" ? ATTENTION_FORMULAS.scaling() : formula();
        return h(ScoreTable, { key: name, title: t(label), note, words: SENTENCES[0], ...scoreWords(name, factor) });
      }),
    ),
  ];
}

/**
 * @param {LessonScore} name
 * @param {number} factor
 */
function largestScore(name, factor) {
  return Math.max(...scoreWords(name, factor).scores.map(Math.abs));
}
