// @ts-check
/** Self-attention: which word does "it" stand for? A small trained model that the page computes itself. */

import { Segmented, Select } from "../../../components/controls.js";
import { t } from "../../../core/i18n.js";
import { h } from "../../../core/ui.js";
import { argmax } from "../../../math/attention.js";
import { resolvePronoun } from "../../../math/lesson.js";
import figures from "../figures.json" with { type: "json" };
import { Figures, ScoreTable, Verdict } from "../parts.js";

/** @import { Chapter, ResultProps } from "../chapter.js" */

const MODEL = figures.pronoun;
const FRAME = ["the", "", "did", "not", "cross", "the", "", "because", "it", "was", "too", ""];
const [ANIMAL, PLACE, ADJECTIVE] = [1, 6, 11]; // positions
const WORDS = {
  [ANIMAL]: ["dog", "horse", "cow", "mouse"],
  [PLACE]: ["street", "road", "bridge", "park"],
  [ADJECTIVE]: ["tired", "hungry", "scared", "wide", "long", "busy"],
};
const FIRST = ["dog", "street", "wide"];

/** @type {Chapter} */
export const pronounChapter = {
  id: "pronoun",
  title: "start.pronoun_title",
  idea: "start.pronoun_idea",
  question: "start.pronoun_question",
  answers: () => [
    ["dog", t("start.pronoun_dog")],
    ["street", t("start.pronoun_street")],
    ["adjective", t("start.pronoun_adjective")],
    ["spread", t("start.pronoun_spread")],
  ],
  Setup,
  Result,
  link: {
    text: "start.pronoun_link",
    state: {
      view: "heads",
      model: "en-fr",
      text: "The dog did not cross the street because it was too tired.",
      role: "encoder-self",
    },
  },
};

function Setup() {
  return h(
    "p",
    { class: "sample", lang: "en" },
    sentence(FIRST).map((word) => (word === "it" ? h("b", null, " it ") : ` ${word}`)),
  );
}

/** @param {string[]} blanks */
function sentence(blanks) {
  let next = 0;
  return FRAME.map((word) => word || blanks[next++]);
}

/** @param {ResultProps} props */
function Result({ store, guess, setting, onSetting }) {
  const { blanks, hidden } = parsed(setting);
  const words = sentence(blanks);
  const found = resolvePronoun(MODEL, words, hidden);
  const set = (/** @type {string[]} */ next, /** @type {number | null} */ hide) =>
    onSetting([...next, hide === null ? "" : String(hide)].join("."));
  const best = argmax(resolvePronoun(MODEL, sentence(FIRST)).second);
  const right = { [ANIMAL]: "dog", [PLACE]: "street", [ADJECTIVE]: "adjective" }[best] ?? "spread";
  const choices = [ANIMAL, PLACE, ADJECTIVE].map((position, index) =>
    h(Select, {
      key: position,
      label: t(index === 0 ? "start.pronoun_animal" : index === 1 ? "start.pronoun_place" : "start.pronoun_word"),
      options: WORDS[position].map((word) => /** @type {[string, string]} */ ([word, word])),
      value: blanks[index],
      onChange: (word) => set(blanks.with(index, word), hidden),
    }),
  );
  const nouns = [...found.nouns].sort((a, b) => b.probability - a.probability);
  const pronoun = found.elle > 0.5 ? "elle" : "il";
  return [
    h(Verdict, { store, guess, right, answers: pronounChapter.answers() }, t("start.pronoun_explained")),
    h("div", { class: "controls" }, choices),
    h(
      "div",
      { class: "field" },
      t("start.pronoun_hide"),
      h(Segmented, {
        label: t("start.pronoun_hide"),
        options: [
          ["", t("start.pronoun_hide_none")],
          ...[ANIMAL, PLACE, ADJECTIVE].map(
            (position) => /** @type {[string, string]} */ ([String(position), words[position]]),
          ),
        ],
        value: hidden === null ? "" : String(hidden),
        onChange: (/** @type {string} */ value) => set(blanks, value ? Number(value) : null),
      }),
    ),
    h(
      "p",
      { class: "sample", lang: "en" },
      words
        .map((word, at) => (at === hidden ? " ▢" : ` ${word}`))
        .join("")
        .trim(),
    ),
    h(Figures, {
      items: [
        [t("start.pronoun_stands_for"), h("span", { lang: "en" }, nouns[0].noun), nouns[0].probability],
        [t("start.pronoun_probability"), nouns[0].probability.toFixed(2)],
        [
          t("start.pronoun_french"),
          h("span", { lang: "fr" }, `${pronoun} (${Math.max(found.elle, 1 - found.elle).toFixed(2)})`),
        ],
      ],
    }),
    h(
      "div",
      { class: "lesson-grid" },
      h(ScoreTable, { title: t("start.pronoun_first"), words, weights: found.first }),
      h(ScoreTable, { title: t("start.pronoun_second"), words, weights: found.second }),
    ),
    h("p", null, t("start.pronoun_real")),
    h(
      "p",
      { class: "faint small" },
      t("start.pronoun_note", {
        sentences: MODEL.sentences,
        parameters: MODEL.parameters.toLocaleString("en"),
        right: MODEL.right,
        unseen: MODEL.unseen,
      }),
    ),
  ];
}

/**
 * The three words of a setting such as "cow.road.tired.6", and the position that is hidden.
 * @param {string} setting
 */
function parsed(setting) {
  const [animal, place, adjective, position] = setting.split(".");
  const known = (/** @type {string} */ word, /** @type {number} */ at, /** @type {number} */ index) =>
    WORDS[at].includes(word) ? word : FIRST[index];
  return {
    blanks: [known(animal, ANIMAL, 0), known(place, PLACE, 1), known(adjective, ADJECTIVE, 2)],
    hidden: [ANIMAL, PLACE, ADJECTIVE].includes(Number(position)) ? Number(position) : null,
  };
}
