/** One model's translation of the sentence, with its score, its time and its word alignment. */

import { heatmap } from "../../charts/heatmap.js";
import { Plot } from "../../charts/plot.js";
import { Empty, Loading, Problem } from "../../components/placeholders.js";
import { t } from "../../core/i18n.js";
import { useWidth } from "../../core/query.js";
import { h, useMemo } from "../../core/ui.js";
import { headAlignments, MEAN_OF_ALL, wordAlignment } from "../../data/head_alignment.js";
import { generationOf } from "../../data/models.js";
import { drawnLinks } from "../../math/alignment.js";
import { MarkedOutput } from "./marked_output.js";
import { attentionOfRnn, kindName, layerAndHead } from "./model_names.js";

/** @import { Backend, Model, Output, WordAlignment } from "../../data/backend.js" */
/** @import { HeadSelection } from "../../data/head_alignment.js" */

/**
 * What is known so far of a model's translation; nothing while it waits for its turn.
 * @typedef {object} ModelAnswer
 * @property {Output} [output]
 * @property {number} [milliseconds]
 * @property {{ alignment: WordAlignment, selection: HeadSelection }} [aligned]
 * @property {boolean} [isDone]
 * @property {Error} [error]
 */

/**
 * Translate with a model, then align the words with its best head; yields all that is known, again and again.
 * @param {Backend} data
 * @param {Model} model
 * @param {string} text
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<ModelAnswer, void>}
 */
export async function* answersOf(data, model, text, signal) {
  const start = performance.now();
  const { translations } = await data.translate({ model: model.name, texts: [text] }, { signal });
  const [output] = translations[0];
  const answer = { output, milliseconds: performance.now() - start };
  yield answer;
  if (model.has_attention && output.text) {
    const trace = await data.traces({ model: model.name, text, target: output.text }, { signal });
    const selection = (await headAlignments(data, model, { signal }))[0] ?? MEAN_OF_ALL;
    yield {
      ...answer,
      aligned: { alignment: await wordAlignment(data, trace.id, selection, { signal }), selection },
      isDone: true,
    };
  } else yield { ...answer, isDone: true };
}

/** @param {{ model: Model, text: string, reference: string, answer: ModelAnswer }} props an empty reference: none is known */
export function ModelCard({ model, text, reference, answer }) {
  const generation = generationOf(model.kind);
  const attention = attentionOfRnn(model);
  return h(
    "section",
    { class: "card compare-card", "data-model": model.name },
    h(
      "p",
      { class: "generation" },
      generation === null ? t("compare.other") : t("compare.generation", { number: generation + 1 }),
    ),
    h("h2", null, kindName(model.kind)),
    attention && h("p", { class: "small wiring" }, attention),
    h(
      "p",
      { class: "faint small" },
      model.name,
      " · ",
      t("compare.parameters", { count: model.parameters.toLocaleString("en") }),
    ),
    h("div", { class: "stack" }, h(Answer, { model, text, reference, answer })),
  );
}

/** @param {{ model: Model, text: string, reference: string, answer: ModelAnswer }} props */
function Answer({ model, text, reference, answer: { output, milliseconds = 0, aligned, isDone, error } }) {
  if (!output) return error ? h(Problem, { error }) : h(Loading, null);
  return [
    h(
      "p",
      { class: "translation", lang: model.target, dir: "auto" },
      reference ? h(MarkedOutput, { text: output.text, reference }) : output.text || "–",
    ),
    h(Figures, { output, milliseconds }),
    h("div", { class: "stack" }, alignment()),
  ];

  function alignment() {
    if (!model.has_attention) return h(Empty, null, t("compare.no_attention"));
    if (error) return h(Problem, { error });
    if (aligned) return h(AlignmentMap, { title: `${model.name}: ${text}`, ...aligned });
    return !isDone && h(Loading, null);
  }
}

/** @param {{ output: Output, milliseconds: number }} props */
function Figures({ output, milliseconds }) {
  const probability = `${Number((Math.exp(output.log_probability) * 100).toPrecision(2))} %`;
  const row = (/** @type {string} */ name, /** @type {string} */ value, /** @type {string} */ hint) =>
    h("div", { title: hint }, h("dt", null, name), h("dd", { class: "number" }, value));
  return h(
    "dl",
    { class: "figures" },
    row(t("compare.score"), output.score.toFixed(3), t("compare.score_hint")),
    row(t("compare.probability"), probability, t("compare.probability_hint")),
    row(t("compare.time"), `${Math.round(milliseconds).toLocaleString("en")} ms`, t("compare.time_hint")),
  );
}

/** @param {{ title: string, alignment: WordAlignment, selection: HeadSelection }} props */
function AlignmentMap({ title, alignment, selection: { layer, head, at } }) {
  const [ref, width] = useWidth();
  const chart = useMemo(() => {
    const { source_words: columns, target_words: rows, weights } = alignment;
    const data = { weights: Float32Array.from(weights.flat()), rows, columns, links: drawnLinks(alignment), title };
    return width > 0 ? heatmap(data, { width: Math.max(240, width - 4) }) : null;
  }, [alignment, title, width]);
  const which = layerAndHead(layer === "mean" ? null : layer + 1, head === "mean" ? null : head + 1);
  return [
    h("div", { ref }, chart && h(Plot, { chart })),
    h(
      "p",
      { class: "faint small" },
      at === "output" ? t("compare.at_output", { which }) : t("compare.at_input", { which }),
    ),
  ];
}
