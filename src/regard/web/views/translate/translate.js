/** Translate: the translation of a sentence as it is streamed, then the attention between its words. */

import { Lead } from "../../components/layout.js";
import { NextTokens } from "../../components/next_tokens.js";
import { NotReady, OtherModel, Problem } from "../../components/placeholders.js";
import { SentenceForm } from "../../components/sentence_form.js";
import { asRequest, changesOf, textExperiment } from "../../components/what_if/experiment.js";
import { WhatIf } from "../../components/what_if/what_if.js";
import { t } from "../../core/i18n.js";
import { h, useEffect, useState } from "../../core/ui.js";
import { BeamCard } from "./beam_card.js";
import { OutputsCard } from "./outputs.js";
import { TracedCards } from "./traced_cards.js";
import { useTranslation } from "./use_translation.js";

/** @import { Model } from "../../data/backend.js" */
/** @import { Store } from "../../core/store.js" */
/** @import { TracedTranslation, TranslationState } from "./use_translation.js" */

const MOST_UNKNOWN = 4; // words that are named

export const translateView = {
  id: "translate",
  title: "translate.title",
  tasks: ["translation"],
  View: Translate,
};

/** @param {{ store: Store }} props */
function Translate({ store }) {
  const model = store.model.value;
  const isTranslator = model?.task === "translation"; // a reader may write while it is being loaded
  const [attempt, setAttempt] = useState(0);
  const state = useTranslation(store, isTranslator && model.is_ready ? model : null, attempt);
  const { traced } = state;
  const send = (/** @type {string} */ text) => {
    store.set({ text });
    setAttempt(attempt + 1); // the same sentence again is tried again
  };
  useEffect(() => {
    if (traced) store.announcement.value = traced.trace.text;
  }, [traced?.trace]);
  return h(
    "div",
    { class: "view translate" },
    h(Lead, { title: t("translate.heading") }, t(store.data.isEmbedded ? "translate.lead_fixed" : "translate.lead")),
    isTranslator && h(SentenceForm, { store, isBusy: state.isBusy, note: unknownNote(traced), onSend: send }),
    isTranslator && model.is_ready && h(WhatIf, { store, experiment: experiment(), trace: traced?.trace }),
    h("div", { class: "translate-result" }, result()),
  );

  function experiment() {
    const text = store.text.value;
    return text && model ? textExperiment(store, model, text, store.url.value.target) : null;
  }

  function result() {
    if (!model?.is_ready) return h(NotReady, { model });
    if (!isTranslator) return h(OtherModel, { store });
    return h(Result, { store, model, state });
  }
}

/** @param {{ store: Store, model: Model, state: TranslationState }} props */
function Result({ store, model, state }) {
  const { traced, error, outputs, outputsError } = state;
  const text = store.text.value;
  if (error) {
    const streamed = state.partial && h("p", { class: "growing", dir: "auto" }, state.partial);
    return h("section", { class: "card stack" }, streamed, h(Problem, { error }));
  }
  if (!text) return null;
  if (!traced) return h(StreamedCard, { text, partial: state.partial });
  const choose = (/** @type {string} */ target) => store.set({ target, pinned: "" });
  const { target } = store.url.value;
  const request = { model: model.name, text, ...(target && { target }), ...asRequest(changesOf(store)) };
  /** @type {Parameters<typeof NextTokens>[0]["withTrace"]} */
  const withTrace = (use, signal) => store.traces.withTrace(request, use, { signal });
  return [
    h(TracedCards, {
      key: `of ${text}`,
      store,
      kind: model.kind,
      state: { ...state, traced },
      onTarget: choose,
    }),
    !store.data.isEmbedded &&
      h(OutputsCard, { key: "outputs", outputs, error: outputsError, chosen: traced.trace.text, onChoose: choose }),
    !store.data.isEmbedded && h(NextTokens, { key: "next", store, input: JSON.stringify(request), withTrace }),
    !store.data.isEmbedded && h(BeamCard, { key: "beam", store, model, text }),
  ];
}

/** @param {{ text: string, partial: string }} props */
function StreamedCard({ text, partial }) {
  return h(
    "section",
    { class: "card" },
    h("p", { class: "growing-source", dir: "auto" }, text),
    h(
      "p",
      { class: "growing", dir: "auto", "aria-live": "off" },
      partial,
      h("span", { class: "caret", "aria-hidden": "true" }),
    ),
  );
}

/**
 * A sentence that names the words without tokens of their own; empty where the model knows all of them.
 * @param {TracedTranslation | null} traced
 */
function unknownNote(traced) {
  const words = traced?.trace.unknown_words ?? [];
  if (!words.length) return "";
  const named = words.slice(0, MOST_UNKNOWN).map((word) => t("translate.quoted", { word }));
  const values = { words: named.join(", "), count: words.length };
  return words.length > MOST_UNKNOWN ? t("translate.unknown_more", values) : t("translate.unknown", values);
}
