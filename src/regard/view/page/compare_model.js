/** One model's answer to the sentence that all are asked: its translation, score, time, and the alignment it saw. */

import { measuredReadings } from "./gold.js";
import { clear, h } from "./make.js";
import { heatmap } from "./heatmap.js";
import { emptyNote, isAbandoned, problemNote, waitingNote } from "./notes.js";
import { t } from "./text.js";
import { bestReading } from "./translate_reading.js";
import { drawnLinks } from "./translate_words.js";

const GENERATIONS = ["rnn", "rnn-attention", "transformer"];

/** Where a kind of model stands in the lineage; others come after. */
export function generationOf(kind) {
  const at = GENERATIONS.indexOf(kind);
  return at < 0 ? GENERATIONS.length : at;
}

/** What a kind of model is called. */
export function kindText(kind) {
  return generationOf(kind) < GENERATIONS.length ? t(`compare.kind.${kind}`) : kind;
}

/** By what two RNNs that attend are told apart; null for other models. */
export function wiringText({ score, wiring }) {
  return wiring && t(`compare.wiring.${wiring}`, { score: t(`compare.scoring.${score}`) });
}

/** A layer and a head, counted from 1, as words; null is the mean of them. */
export function placeText({ layer, head }) {
  const which = [
    layer === null ? t("compare.meanOfLayers") : t("heads.layer", { layer }),
    head === null ? t("heads.meanOfHeads") : t("heads.head", { head }),
  ];
  return which.join(", ");
}

/** A card of a model; `ask(text)` translates with it. Returns {node, ask, stop()}. */
export function modelCard(app, model) {
  const now = { map: null, asked: null };
  const answer = h("div", { class: "stack" }, waitingNote());
  const generation = generationOf(model.kind);
  const node = h(
    "section",
    { class: "card compare-card", "data-model": model.name },
    h("p", { class: "generation" }, generation < GENERATIONS.length ? t("compare.generation", { number: generation + 1 }) : t("compare.other")),
    h("h2", null, kindText(model.kind)),
    model.wiring && h("p", { class: "small wiring" }, wiringText(model)),
    h("p", { class: "faint small" }, model.name, " · ", t("compare.parameters", { count: model.parameters.toLocaleString("en") })),
    answer,
  );
  const ask = async (text) => {
    now.asked?.abort();
    const { signal } = (now.asked = new AbortController());
    clear(answer, waitingNote());
    try {
      await showAnswer(app, { model, answer, now }, text, signal);
    } catch (problem) {
      if (!isAbandoned(problem)) clear(answer, problemNote(problem));
    }
  };
  return { node, ask, stop: () => (now.asked?.abort(), now.map?.stop?.()) };
}

async function showAnswer(app, { model, answer, now }, text, signal) {
  const begun = performance.now();
  const told = await app.api.translate({ model: model.name, texts: [text] }, { signal });
  const milliseconds = performance.now() - begun;
  const translation = told.translations[0][0];
  const place = h("div", { class: "stack" }, model.has_attention ? waitingNote() : emptyNote(t("compare.noAttention")));
  clear(answer, h("p", { class: "translation", lang: model.target }, translation.text || "–"), figures(translation, milliseconds), place);
  if (model.has_attention && translation.text) await showAlignment(app, { model, place, now }, { text, target: translation.text }, signal);
  else if (model.has_attention) clear(place);
}

function figures({ score, log_probability: logProbability }, milliseconds) {
  const row = (name, value, hint) => h("div", { title: hint }, h("dt", null, name), h("dd", { class: "number" }, value));
  return h(
    "dl",
    { class: "figures" },
    row(t("compare.score"), score.toFixed(3), t("compare.scoreHint")),
    row(t("compare.probability"), `${(Math.exp(logProbability) * 100).toPrecision(2)} %`, t("compare.probabilityHint")),
    row(t("compare.time"), `${Math.round(milliseconds).toLocaleString("en")} ms`, t("compare.timeHint")),
  );
}

async function showAlignment(app, { model, place, now }, { text, target }, signal) {
  const trace = await app.api.traces({ model: model.name, text, target }, { signal });
  const reading = await goodReading(app, model, signal);
  const alignment = await app.api.alignment(trace.id, reading, { signal });
  now.map?.stop?.();
  now.map = heatmap({
    weights: Float32Array.from(alignment.weights.flat()), rows: alignment.target_words, columns: alignment.source_words,
    title: `${model.name}: ${text}`, links: drawnLinks(alignment), width: Math.max(240, place.clientWidth - 4),
  });
  clear(place, now.map.node, h("p", { class: "faint small" }, readingText(reading)));
}

/** The layer and head that align best where the server has measured them, else the mean of all. */
async function goodReading(app, model, signal) {
  return bestReading(await measuredReadings(app, model, { signal })) ?? { layer: "mean", head: "mean", when: "said" };
}

function readingText({ layer, head, when }) {
  const counted = (place) => (place === "mean" ? null : place + 1);
  return t(`compare.reading.${when}`, { which: placeText({ layer: counted(layer), head: counted(head) }) });
}
