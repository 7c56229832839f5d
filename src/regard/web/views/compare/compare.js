/** Compare: the same sentence translated by each model, side by side, and their quality against sentence length. */

import { Lead } from "../../components/layout.js";
import { Empty, NotReady, withCode } from "../../components/placeholders.js";
import { SentenceForm } from "../../components/sentence_form.js";
import { t } from "../../core/i18n.js";
import { useQuery } from "../../core/query.js";
import { h, useEffect, useState } from "../../core/ui.js";
import { comparableModels, modelFor } from "../../data/models.js";
import { EvaluationCards } from "./evaluation.js";
import { answersOf, ModelCard } from "./model_card.js";

/** @import { Store } from "../../core/store.js" */
/** @import { Model } from "../../data/backend.js" */
/** @import { ModelAnswer } from "./model_card.js" */

export const compareView = { id: "compare", title: "compare.title", View: Compare };

/** @param {{ store: Store }} props */
function Compare({ store }) {
  const [attempt, setAttempt] = useState(0);
  const chosen = store.model.value;
  const models = comparableModels(store.models.value, chosen);
  const awaited = modelFor(store.models.value, chosen, "translation");
  const isLanguageModel = chosen?.task === "text-generation" || chosen?.task === "fill-mask";
  const text = isLanguageModel ? "" : store.text.value; // a prompt is not for a translator
  const send = (/** @type {string} */ sent) => {
    store.set({ text: sent, ...(isLanguageModel && models.length > 0 && { model: models[0].name }) });
    setAttempt(attempt + 1); // the same sentence again is tried again
  };
  const names = models.map(({ name }) => name);
  return h(
    "div",
    { class: "view" },
    h(Lead, { title: t("compare.heading") }, t("compare.lead")),
    h(SentenceForm, { store, text, model: models[0] ?? null, onSend: send }),
    h(
      "div",
      null,
      !models.length && (awaited ? h(NotReady, { model: awaited }) : h(Empty, null, withCode(t("compare.none")))),
      models.length > 0 &&
        chosen?.task === "image-to-text" &&
        h("p", { class: "faint" }, t("compare.instead", { model: chosen.name })),
    ),
    text &&
      models.length > 0 &&
      h(ComparedModels, { key: JSON.stringify([names, text, attempt]), store, models, text }),
    h(EvaluationCards, { store, model: names[0] ?? "" }),
  );
}

/**
 * The models are asked one after the other, so that the time of each is its own.
 * @param {{ store: Store, models: Model[], text: string }} props
 */
function ComparedModels({ store, models, text }) {
  const [{ source, target }] = models;
  const examples = useQuery((signal) => store.data.examples({ source, target }, { signal }), []);
  const reference = examples.data?.examples.find((example) => example.source === text)?.target ?? "";
  const [answers, setAnswers] = useState(/** @type {Record<string, ModelAnswer>} */ ({}));
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const add = (/** @type {string} */ name, /** @type {ModelAnswer} */ answer) =>
      signal.aborted || setAnswers((last) => ({ ...last, [name]: { ...last[name], ...answer } }));
    const ask = async (/** @type {Model} */ model) => {
      try {
        for await (const answer of answersOf(store.data, model, text, signal)) add(model.name, answer);
      } catch (error) {
        add(model.name, { error: /** @type {Error} */ (error) });
      }
    };
    models.reduce((before, model) => before.then(() => (signal.aborted ? undefined : ask(model))), Promise.resolve());
    return () => controller.abort();
  }, []);
  return [
    reference &&
      h(
        "p",
        { class: "card compare-reference" },
        h("span", { class: "faint small" }, t("quality.reference")),
        " ",
        h("b", { lang: target, dir: "auto" }, reference),
        " ",
        h("span", { class: "faint small" }, t("quality.marks")),
      ),
    h(
      "div",
      { class: "compare-row" },
      models.map((model) =>
        h(ModelCard, { key: model.name, model, text, reference, answer: answers[model.name] ?? {} }),
      ),
      models.length === 1 && h(Empty, null, withCode(t("compare.only_one"))),
    ),
  ];
}
