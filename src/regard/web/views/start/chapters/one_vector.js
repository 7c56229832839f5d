// @ts-check
/** One vector for a whole sentence: the longer the sentence, the more is lost. */

import { lines } from "../../../charts/lines.js";
import { t } from "../../../core/i18n.js";
import { h } from "../../../core/ui.js";
import figures from "../figures.json" with { type: "json" };
import { NeedsModel, Outputs, readyModel, SentenceChoice, SizedChart, useTranslation, Verdict } from "../parts.js";

/** @import { Store } from "../../../core/store.js" */
/** @import { Chapter, ResultProps } from "../chapter.js" */

const { lengths, fixed, attention } = figures.length;
const MODELS = /** @type {const} */ ([
  ["en-fr-rnn", "start.one_vector_fixed"],
  ["en-fr-rnn-attention", "start.one_vector_attention"],
  ["en-fr", "start.parallel_transformer"],
]);
const SENTENCES = [
  "I have a dog.",
  "I have a dog and a cat.",
  "She has a black cat and a white dog.",
  "She has a black cat and a white dog, and her brother has two red birds.",
];

/** @type {Chapter} */
export const oneVectorChapter = {
  id: "one-vector",
  title: "start.one_vector_title",
  idea: "start.one_vector_idea",
  question: "start.one_vector_question",
  answers: () => [
    ["all", t("start.one_vector_all")],
    ["half", t("start.one_vector_half")],
    ["none", t("start.one_vector_none")],
  ],
  Result,
  link: {
    text: "start.one_vector_link",
    state: { view: "compare", model: "en-fr", text: SENTENCES[1] },
  },
};

/** @param {ResultProps} props */
function Result({ store, guess, setting, onSetting }) {
  const last = fixed.exact[fixed.exact.length - 1];
  const right = last > 0.75 ? "all" : last > 0.25 ? "half" : "none";
  const percent = (/** @type {number} */ share) => `${Math.round(share * 100)}%`;
  const title = t("start.one_vector_chart");
  const draw = (/** @type {number} */ width) => {
    const points = (/** @type {number[]} */ exact) =>
      exact.map((share, at) => /** @type {[number, number]} */ ([lengths[at], share * 100]));
    const series = [
      { name: t("start.one_vector_fixed"), points: points(fixed.exact) },
      { name: t("start.one_vector_attention"), points: points(attention.exact) },
    ];
    const xTicks = lengths.map((length) => /** @type {[number, string]} */ ([length, String(length)]));
    const axes = { xLabel: t("start.one_vector_length"), yLabel: t("start.one_vector_exact") };
    return lines({ series, title, ...axes, xTicks }, { width, height: 240 });
  };
  return [
    h(
      Verdict,
      { store, guess, right, answers: oneVectorChapter.answers() },
      t("start.one_vector_explained", {
        short: percent(fixed.exact[0]),
        long: percent(last),
        attention: percent(attention.exact[attention.exact.length - 1]),
      }),
    ),
    h(SizedChart, { title, deps: [], draw }),
    h("p", { class: "faint small" }, t("start.measured_by", { command: "benchmarks/lesson_figures.py length" })),
    h(RealSentences, {
      store,
      text: setting || SENTENCES[0],
      onText: (text) => onSetting(text === SENTENCES[0] ? "" : text),
    }),
  ];
}

/** @param {{ store: Store, text: string, onText: (text: string) => void }} props */
function RealSentences({ store, text, onText }) {
  const models = MODELS.map(([name]) => readyModel(store, name));
  const outputs = [
    useTranslation(store, models[0], text),
    useTranslation(store, models[1], text),
    useTranslation(store, models[2], text),
  ];
  const missing = MODELS.flatMap(([name], index) => (models[index] ? [] : [name]));
  const rows = MODELS.flatMap(([, key], index) => (models[index] ? [{ name: t(key), query: outputs[index] }] : []));
  return [
    rows.length > 0 && h("p", null, t("start.one_vector_try")),
    rows.length > 0 &&
      h(SentenceChoice, { label: t("start.one_vector_sentence"), samples: SENTENCES, value: text, onSend: onText }),
    rows.length > 0 && h(Outputs, { rows }),
    missing.length > 0 && h(NeedsModel, { names: missing }),
  ];
}
