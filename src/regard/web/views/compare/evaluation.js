/** Quality of the models on a test set: a plot against sentence length, the sentences of one length, and a table. */

import { lines } from "../../charts/lines.js";
import { Plot } from "../../charts/plot.js";
import { Card } from "../../components/layout.js";
import { Empty, Loading, Problem, withCode } from "../../components/placeholders.js";
import { t } from "../../core/i18n.js";
import { useQuery, useWidth } from "../../core/query.js";
import { paramsOf } from "../../core/store.js";
import { h, useMemo } from "../../core/ui.js";
import { indexParam } from "../../core/url.js";
import { byGeneration } from "../../data/models.js";
import { MarkedOutput } from "./marked_output.js";
import { attentionOfRnn, kindName, layerAndHead } from "./model_names.js";

/** @import { Store } from "../../core/store.js" */
/** @import { ComponentChildren } from "../../core/ui.js" */
/** @import { ComparedSentence, Evaluation, ModelReport } from "../../data/backend.js" */

const PARAMS = { bucket: "" };
const PLOT_HEIGHT = 300; // pixels

/**
 * The report that has one of the compared models.
 * @param {{ store: Store, model: string }} props
 */
export function EvaluationCards({ store, model }) {
  const evaluation = useQuery((signal) => store.data.evaluation(model, { signal }), [model]);
  const kinds = Object.fromEntries(store.models.value.map(({ name, kind }) => [name, kind]));
  const models = useMemo(
    () =>
      evaluation.data?.models.toSorted((a, b) => byGeneration(kinds[a.model] ?? a.kind, kinds[b.model] ?? b.kind)) ??
      [],
    [evaluation.data, JSON.stringify(kinds)],
  );
  if (evaluation.isLoading) return h(Loading, null);
  if (evaluation.error) return h(Card, { title: t("quality.title") }, h(Problem, { error: evaluation.error }));
  if (!evaluation.data || !models.length)
    return h(Card, { title: t("quality.title") }, h(Empty, null, withCode(t("quality.none"))));
  return h(
    "div",
    { class: "stack" },
    h(LengthCard, { store, models, model, evaluation: evaluation.data }),
    h(Card, { title: t("quality.table") }, h(ScoreTable, { models })),
  );
}

/** @param {{ store: Store, models: ModelReport[], model: string, evaluation: Evaluation }} props */
function LengthCard({ store, models, model, evaluation }) {
  const buckets = models[0].lengths;
  const { bucket } = paramsOf(store, PARAMS);
  const hasSentences = evaluation.test.has_sentences; // a report of figures has no sentences to open
  const chosen = hasSentences ? indexParam(bucket, buckets.length) : null;
  const open = (/** @type {number} */ index) => store.set({ bucket: String(index) });
  return h(
    Card,
    {
      title: t("quality.title"),
      explanation: t("quality.hint", { count: evaluation.test.sentences.toLocaleString("en") }),
    },
    h(LengthPlot, { models, onOpen: hasSentences ? open : undefined }),
    hasSentences &&
      h(
        "div",
        { class: "chips", role: "group", "aria-label": t("quality.buckets") },
        h("span", { class: "faint" }, t("quality.buckets")),
        buckets.map(({ low, high }, index) =>
          h(
            "button",
            { key: index, type: "button", "aria-pressed": index === chosen, onClick: () => open(index) },
            t("quality.words", { low, high }),
          ),
        ),
      ),
    h(
      "div",
      { class: "bucket" },
      chosen !== null && h(BucketSentences, { key: chosen, store, models, model, bucket: chosen }),
    ),
  );
}

/** @param {{ models: ModelReport[], onOpen?: (bucket: number) => void }} props */
function LengthPlot({ models, onOpen }) {
  const [ref, width] = useWidth();
  const title = t("quality.title");
  const xLabel = t("quality.length");
  const chart = useMemo(() => {
    const series = models.map(({ model, lengths }) => ({
      name: model,
      points: lengths.map(({ score }, index) => /** @type {[number, number]} */ ([index, score])),
    }));
    const xTicks = models[0].lengths.map(
      ({ low, high }, index) => /** @type {[number, string]} */ ([index, `${low}–${high}`]),
    );
    return width > 0 ? lines({ title, series, xLabel, yLabel: "BLEU", xTicks }, { width, height: PLOT_HEIGHT }) : null;
  }, [models, title, xLabel, width]);
  return h("div", { ref }, chart && h(Plot, { chart, hint: t("quality.plot_hint"), onSelect: onOpen }));
}

/** @param {{ store: Store, models: ModelReport[], model: string, bucket: number }} props */
function BucketSentences({ store, models, model, bucket }) {
  const query = useQuery((signal) => store.data.evaluationBucket(model, bucket, { signal }), [model, bucket]);
  if (query.error) return h(Problem, { error: query.error });
  if (!query.data) return h(Loading, null);
  const { sentences } = query.data;
  const { low, high } = models[0].lengths[bucket];
  const title = t("quality.sentences", { low, high, count: sentences.length });
  return [
    h("h3", null, title),
    h("p", { class: "faint small" }, t("quality.marks")),
    h(
      "div",
      { class: "bucket-sentences", tabindex: 0, role: "region", "aria-label": title },
      sentences.map((sentence, index) => h(Sentence, { key: index, sentence, models })),
    ),
  ];
}

/** @param {{ sentence: ComparedSentence, models: ModelReport[] }} props */
function Sentence({ sentence: { source, reference, outputs }, models }) {
  const line = (/** @type {string} */ name, /** @type {ComponentChildren} */ text) => [
    h("dt", null, name),
    h("dd", null, text),
  ];
  return h(
    "dl",
    { class: "bucket-sentence" },
    line(t("quality.source"), source),
    line(t("quality.reference"), reference),
    models
      .filter(({ model }) => model in outputs)
      .map(({ model }) => line(model, h(MarkedOutput, { text: outputs[model], reference }))),
  );
}

/** @param {{ models: ModelReport[] }} props */
function ScoreTable({ models }) {
  const metrics = [...new Set(models.flatMap(({ scores }) => scores.map(({ name }) => name)))];
  const row = (
    /** @type {string} */ title,
    /** @type {(model: ModelReport) => ComponentChildren} */ cell,
    /** @type {string} */ hint = "",
  ) =>
    h(
      "tr",
      null,
      h("th", { scope: "row", title: hint || undefined }, title),
      models.map((model) => h("td", { key: model.model }, cell(model))),
    );
  const head = h(
    "tr",
    null,
    h("td"),
    models.map(({ model }) => h("th", { key: model, scope: "col" }, model)),
  );
  return h(
    "div",
    { class: "table-scroll", tabindex: 0, role: "region", "aria-label": t("quality.table") },
    h(
      "table",
      { class: "numbers" },
      h("thead", null, head),
      h(
        "tbody",
        null,
        row(t("quality.kind"), (model) => withDetail(kindName(model.kind ?? "") || "–", attentionOfRnn(model))),
        metrics.map((name) =>
          row(
            name,
            (model) => scoreText(model, name),
            models[0].scores.find((score) => score.name === name)?.signature,
          ),
        ),
        models.some(({ alignment }) => alignment) &&
          row(t("quality.alignment"), alignmentCell, t("quality.alignment_hint")),
        row(t("quality.speed"), (model) =>
          model.sentences_per_second.toLocaleString("en", { maximumFractionDigits: 1 }),
        ),
        row(t("quality.parameters"), (model) => model.parameters.toLocaleString("en")),
      ),
    ),
  );
}

/**
 * @param {ModelReport} model
 * @param {string} name
 */
function scoreText({ scores }, name) {
  const score = scores.find((one) => one.name === name);
  return score ? `${score.value.toFixed(1)} [${score.low.toFixed(1)}, ${score.high.toFixed(1)}]` : "–";
}

/**
 * The alignment error of the model's best head, and which head that is.
 * @param {ModelReport} model
 */
function alignmentCell({ alignment }) {
  if (!alignment) return "–";
  const which = layerAndHead(alignment.layer, alignment.head);
  const detail = alignment.at === "input" ? t("quality.at_input", { which }) : t("quality.at_output", { which });
  return withDetail(alignment.aer.toFixed(3), detail);
}

/**
 * @param {string} text
 * @param {string | null} detail
 */
function withDetail(text, detail) {
  return [text, detail && h("span", { class: "detail" }, detail)];
}
