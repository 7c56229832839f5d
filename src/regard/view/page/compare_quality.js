/** How good the models are on a test set, and how that falls as sentences grow; a length's sentences on demand. */

import { clear, h } from "./make.js";
import { generationOf, kindText, placeText, wiringText } from "./compare_model.js";
import { lines } from "./lines.js";
import { card, emptyNote, isAbandoned, problemNote, waitingNote } from "./notes.js";
import { savingButtons } from "./saving.js";
import { t } from "./text.js";
import { markedWords } from "./wording.js";

/** The whole part: table, plot, sentences. Returns {node, stop()}. */
export function qualityPart(app) {
  const leaving = new AbortController();
  const node = h("div", { class: "stack" }, waitingNote());
  const now = { plot: null };
  fill(app, node, now, leaving.signal).catch((problem) => {
    if (!isAbandoned(problem)) clear(node, card(t("quality.title"), {}, problemNote(problem)));
  });
  return { node, stop: () => (leaving.abort(), now.plot?.stop()) };
}

async function fill(app, node, now, signal) {
  const quality = await app.api.quality({ signal });
  if (!quality) return void clear(node, card(t("quality.title"), {}, emptyNote(t("quality.none"))));
  const kinds = Object.fromEntries(app.models().map((model) => [model.name, model.kind]));
  const models = quality.models.toSorted((one, other) => generationOf(kinds[one.model]) - generationOf(kinds[other.model]));
  const sentences = h("div", { class: "bucket" });
  const open = (bucket) => {
    buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(index === bucket)));
    showBucket(app, sentences, { models, bucket, signal });
  };
  const buttons = models[0].lengths.map((one, bucket) =>
    h("button", { type: "button", "aria-pressed": "false", onclick: () => open(bucket) }, t("quality.words", one)));
  now.plot = lengthPlot(models, open);
  clear(
    node,
    card(t("quality.title"), { explanation: t("quality.hint", { count: quality.test.sentences.toLocaleString("en") }) },
      now.plot.node, savingButtons(now.plot.toSvg, t("quality.title")),
      h("div", { class: "chips", role: "group", "aria-label": t("quality.buckets") }, h("span", { class: "faint" }, t("quality.buckets")), buttons),
      sentences),
    card(t("quality.table"), {}, scoreTable(models)),
  );
}

function lengthPlot(models, open) {
  const buckets = models[0].lengths;
  return lines({
    title: t("quality.title"),
    series: models.map((one) => ({ name: one.model, points: one.lengths.map((bucket, place) => [place, bucket.score]) })),
    xLabel: t("quality.length"), yLabel: "BLEU", height: 300,
    xTicks: buckets.map((bucket, place) => [place, `${bucket.low}–${bucket.high}`]),
    hint: t("quality.plotHint"),
    onPoint: open,
  });
}

function scoreTable(models) {
  const names = [...new Set(models.flatMap((one) => one.scores.map((score) => score.name)))];
  const scoreOf = (one, name) => {
    const score = one.scores.find((other) => other.name === name);
    return score ? `${score.value.toFixed(1)} [${score.low.toFixed(1)}, ${score.high.toFixed(1)}]` : "–";
  };
  const hasGold = models.some((one) => one.alignment);
  const row = (title, cells, hint) => h("tr", null, h("th", { scope: "row", title: hint }, title), cells.map((cell) => h("td", null, cell)));
  return h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": t("quality.table") },
    h("table", { class: "numbers" },
      h("thead", null, h("tr", null, h("td"), models.map((one) => h("th", { scope: "col" }, one.model)))),
      h("tbody", null,
        row(t("quality.kind"), models.map((one) => withDetail(kindText(one.kind) || "–", wiringText(one)))),
        names.map((name) => row(name, models.map((one) => scoreOf(one, name)), models[0].scores.find((score) => score.name === name)?.signature)),
        hasGold && row(t("quality.alignment"), models.map(alignmentOf), t("quality.alignmentHint")),
        row(t("quality.speed"), models.map((one) => one.sentences_per_second.toLocaleString("en", { maximumFractionDigits: 1 }))),
        row(t("quality.parameters"), models.map((one) => one.parameters.toLocaleString("en"))))));
}

/** The error of the model's best reading, and below it which that is; a dash where it has none. */
function alignmentOf({ alignment }) {
  if (!alignment) return "–";
  const { layer, head, when, error } = alignment;
  return withDetail(error.toFixed(3), t(`quality.reading.${when}`, { which: placeText({ layer, head }) }));
}

function withDetail(text, detail) {
  return [text, detail && h("span", { class: "detail" }, detail)];
}

async function showBucket(app, place, { models, bucket, signal }) {
  const { low, high } = models[0].lengths[bucket];
  clear(place, waitingNote());
  try {
    const { sentences } = await app.api.qualityBucket(bucket, { signal });
    const title = t("quality.sentences", { low, high, count: sentences.length });
    clear(place, h("h3", null, title), h("p", { class: "faint small" }, t("quality.marks")),
      h("div", { class: "bucket-sentences", tabindex: 0, role: "region", "aria-label": title }, sentences.map((sentence) => sentenceRow(sentence, models))));
  } catch (problem) {
    if (!isAbandoned(problem)) clear(place, problemNote(problem));
  }
}

function sentenceRow({ source, reference, outputs }, models) {
  const line = (name, children) => [h("dt", null, name), h("dd", null, children)];
  return h("dl", { class: "bucket-sentence" },
    line(t("quality.source"), source), line(t("quality.reference"), reference),
    models.filter((one) => one.model in outputs).map((one) => line(one.model, outputWords(outputs[one.model], reference))));
}

/** Words that the reference does not have there are marked, by underline and weight as well as by colour. */
function outputWords(text, reference) {
  const words = markedWords(text, reference);
  const isSame = words.every((one) => !one.differs) && text.trim() === reference.trim();
  return [words.map(({ word, differs }) => [differs ? h("mark", null, word) : word, " "]), isSame && h("span", { class: "same", title: t("quality.same") }, "✓")];
}
