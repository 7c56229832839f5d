// @ts-check
/** Deciding with an encoder: a classifier answers who acts, and its map shows the rule that it has learnt. */

import { Segmented } from "../../../components/controls.js";
import { Loading, Problem } from "../../../components/placeholders.js";
import { WeightBars } from "../../../components/weight_bars.js";
import { t } from "../../../core/i18n.js";
import { useQuery } from "../../../core/query.js";
import { h } from "../../../core/ui.js";
import { NeedsModel, readyModel, Verdict } from "../parts.js";

/** @import { Store } from "../../../core/store.js" */
/** @import { Chapter, ResultProps } from "../chapter.js" */

const CLASSIFIER = "world-classifier";
const TRAINED = ["The nurse helped the boy", "The boy helped the nurse"]; // sentences like those of the training
const PASSIVE = "The boy was helped by the nurse";
const SENTENCES = [PASSIVE, ...TRAINED];
const SHOWN = 3; // classes

/** @type {Chapter} */
export const decidingChapter = {
  id: "deciding",
  title: "start.deciding_title",
  idea: "start.deciding_idea",
  question: "start.deciding_question",
  answers: () => [
    ["nurse", t("start.deciding_nurse")],
    ["boy", t("start.deciding_boy")],
    ["unsure", t("start.deciding_unsure")],
  ],
  Setup,
  Result,
  link: { text: "start.deciding_link", state: { view: "decide", model: CLASSIFIER, text: PASSIVE } },
};

function Setup() {
  const actors = ["nurse", "boy"];
  const row = (/** @type {string} */ sentence, /** @type {string} */ actor) =>
    h("p", { key: sentence, class: "sample", lang: "en" }, sentence, " → ", h("b", null, actor));
  return [...TRAINED.map((sentence, index) => row(sentence, actors[index])), row(PASSIVE, "?")];
}

/** @param {ResultProps} props */
function Result({ store, guess, setting, onSetting }) {
  const sentence = SENTENCES[Number(setting)] ?? PASSIVE;
  return [
    h(Verdict, { store, guess, right: "boy", answers: decidingChapter.answers() }, t("start.deciding_explained")),
    h(
      "div",
      { class: "field" },
      t("start.deciding_sentence"),
      h(Segmented, {
        label: t("start.deciding_sentence"),
        options: SENTENCES.map((each, index) => /** @type {[string, string]} */ ([String(index), each])),
        value: String(SENTENCES.indexOf(sentence)),
        onChange: (/** @type {string} */ index) => onSetting(index === "0" ? "" : index),
      }),
    ),
    h(Decision, { store, sentence }),
  ];
}

/** @param {{ store: Store, sentence: string }} props */
function Decision({ store, sentence }) {
  const classifier = readyModel(store, CLASSIFIER);
  const query = useQuery(
    classifier &&
      ((signal) => store.traces.classify({ model: CLASSIFIER, texts: [sentence], attention: true }, { signal })),
    [classifier?.name, sentence],
    { keepsData: true },
  );
  if (!classifier) return h(NeedsModel, { names: [CLASSIFIER] });
  if (query.error) return h(Problem, { error: query.error });
  if (!query.data) return h(Loading);
  const { classes, words } = query.data.results[0];
  const people = classes.slice(0, SHOWN).map(({ label, probability }) => ({ word: label, weight: probability }));
  const attended = (words ?? []).map(({ text, weight }) => ({ word: text, weight, isMark: text === "</s>" }));
  return h(
    "div",
    { class: "lesson-grid" },
    h(
      "div",
      { class: "stack" },
      h("p", null, h("b", null, t("start.deciding_people"))),
      h(WeightBars, { weights: people }),
    ),
    h(
      "div",
      { class: "stack" },
      h("p", null, h("b", null, t("start.deciding_weights"))),
      h(WeightBars, { weights: attended }),
    ),
  );
}
