// @ts-check
/** The reader's own sentence, typed here or in another view: which attention and which query, and the steps behind its weights. */

import { headOptions } from "../../components/attention_names.js";
import { AttentionSteps } from "../../components/attention_steps/attention_steps.js";
import { QUERY_PARAMS, stepChoice } from "../../components/attention_steps/step_params.js";
import { Switches } from "../../components/attention_steps/switches.js";
import { Select } from "../../components/controls.js";
import { Card } from "../../components/layout.js";
import { Loading, NotReady, OtherModel, Problem } from "../../components/placeholders.js";
import { SentenceForm } from "../../components/sentence_form.js";
import { TokenRow, TokenSigns } from "../../components/token_row.js";
import { asRequest, changesOf, isOpen, textExperiment } from "../../components/what_if/experiment.js";
import { WeightEditor } from "../../components/what_if/weight_editor.js";
import { WhatIf } from "../../components/what_if/what_if.js";
import { t } from "../../core/i18n.js";
import { useQuery } from "../../core/query.js";
import { h, useRef } from "../../core/ui.js";
import { indexParam } from "../../core/url.js";
import { takesText } from "../../data/models.js";
import { hasLetters, tokenLabel } from "../../math/tokens.js";
import { LogitLens } from "./logit_lens.js";

/** @import { UrlState } from "../../core/url.js" */
/** @import { Store } from "../../core/store.js" */
/** @import { Detail } from "../../components/attention_steps/step_card.js" */
/** @import { Ref } from "../../core/ui.js" */
/** @import { AttentionLayer, Model, Trace } from "../../data/backend.js" */
/** @typedef {{ model: string, text: string, target?: string, interventions?: string[] }} Request */
/** @typedef {{ layer: number, head: number, query: number, fc1_row: number, fc2_row: number }} Place */

const ROLES = /** @type {const} */ ({
  "encoder-self": "inside.use_encoder_self",
  "decoder-self": "inside.use_decoder_self",
  cross: "inside.use_cross",
  "image-cross": "inside.use_picture",
});
/** Parameters that mean nothing in another attention. */
const LAYER_PARAMS = { ...QUERY_PARAMS, fc1_row: "", fc2_row: "" };

/** @param {{ store: Store }} props */
export function OwnSentence({ store }) {
  const model = store.model.value;
  if (!model) return h(NotReady, { model });
  if (!takesText(model)) return h(OtherModel, { store });
  const { data } = store;
  const text = store.text.value || (data.isEmbedded ? (data.sourceText ?? "") : "");
  const target = store.url.value.target || undefined;
  return [
    h(SentenceForm, { store }),
    !model.is_ready && h(NotReady, { model }),
    model.is_ready &&
      text &&
      h(TracedSentence, { key: JSON.stringify([model.name, text, target]), store, model, text, target }),
  ];
}

/** @param {{ store: Store, model: Model, text: string, target: string | undefined }} props */
function TracedSentence({ store, model, text, target }) {
  const changes = changesOf(store);
  const request = { model: model.name, text, ...(target !== undefined && { target }), ...asRequest(changes) };
  const trace = useQuery((signal) => store.traces.get(request, { signal }), [changes.join("\n")], { keepsData: true });
  const experiment = textExperiment(store, model, text, target);
  return [h(WhatIf, { store, experiment, trace: trace.data }), h(TraceOrNote, { store, model, request, trace })];
}

/** @param {{ store: Store, model: Model, request: Request, trace: import("../../core/query.js").Query<Trace> }} props */
function TraceOrNote({ store, model, request, trace }) {
  if (trace.error) return h("section", { class: "card" }, h(Problem, { error: trace.error }));
  if (!trace.data) return h(Loading, null);
  if (!trace.data.layers.length) {
    return h(
      Card,
      { title: t("inside.own_title") },
      h("p", { class: "explain" }, t("translate.nothing", { kind: model.kind })),
    );
  }
  return h(TracedSteps, { store, model, request, trace: trace.data });
}

/** @param {{ store: Store, model: Model, request: Request, trace: Trace }} props */
function TracedSteps({ store, model, request, trace }) {
  const params = store.url.value;
  const place = placeOf(params, trace);
  const { layer, head, query, fc1_row, fc2_row } = place;
  const layerChoice = useRef(/** @type {HTMLSelectElement | null} */ (null));
  const detail = useQuery(
    (signal) => store.traces.withTrace(request, ({ id }) => store.data.arithmetic(id, place, { signal }), { signal }),
    [layer, head, query, fc1_row, fc2_row, trace],
    { keepsData: true }, // the numbers before stay until the next ones are there
  );
  const visit = (/** @type {number} */ next) => {
    store.set({ layer: String(next), ...LAYER_PARAMS });
    layerChoice.current?.focus();
  };
  return [
    h(
      Card,
      { title: t("inside.own_title") },
      h(
        "div",
        { class: "stack" },
        h("p", { class: "pair" }, h("span", { dir: "auto" }, request.text), " → ", h("b", { dir: "auto" }, trace.text)),
        h(PlaceChoice, { store, trace, place, layerChoice }),
        h(TokenSigns, { tokens: [...trace.source.pieces, ...trace.target.pieces] }),
        detail.data &&
          h("div", { class: "switches" }, h(Switches, { detail: detail.data, params, onChange: store.set })),
        detail.data &&
          isOpen(store) &&
          !store.data.isEmbedded &&
          h(KeyWeight, { store, trace, place, detail: detail.data }),
      ),
    ),
    detail.error && h("section", { class: "card" }, h(Problem, { error: detail.error })),
    detail.data
      ? h(AttentionSteps, {
          detail: detail.data,
          params,
          onChange: store.set,
          onVisit: visit,
          isBusy: detail.isLoading,
        })
      : detail.isLoading && h(Loading, null),
    !store.data.isEmbedded &&
      detail.data?.block && // a recurrent model has none
      predictsTokens(trace, layer, model) &&
      h(LogitLens, {
        store,
        trace,
        position: query,
        withTrace: (use, signal) => store.traces.withTrace(request, use, { signal }),
      }),
  ];
}

/**
 * Whether the queries of an attention are positions that predict tokens: not those of a translator's encoder.
 * @param {Trace} trace
 * @param {number} layer
 * @param {Model} model
 */
function predictsTokens({ layers, target }, layer, model) {
  return layers[layer].queries === "target" || (!target.pieces.length && Boolean(model.fills_masks));
}

/**
 * The weight of the chosen key, to be changed.
 * @param {{ store: Store, trace: Trace, place: Place, detail: Detail }} props
 */
function KeyWeight({ store, trace, place, detail }) {
  const { key } = stepChoice(store.url.value, detail);
  const { role, layer } = trace.layers[place.layer];
  const cell = {
    queries: [place.query],
    keys: [key],
    query: tokenLabel(detail.query_label),
    key: tokenLabel(detail.key_labels[key]),
    weight: detail.weights[key],
  };
  const address = { role, layer, head: place.head };
  return h(WeightEditor, { key: JSON.stringify([address, place.query, key]), store, address, cell });
}

/**
 * Which attention, head and query: as in the address, else the last attention between target and source, or the last there is.
 * @param {UrlState} params
 * @param {Trace} trace
 * @returns {Place}
 */
function placeOf(params, trace) {
  const cross = trace.layers.map(({ role }) => role).lastIndexOf("cross");
  const layer = indexParam(params.layer, trace.layers.length) ?? (cross >= 0 ? cross : trace.layers.length - 1);
  const attention = trace.layers[layer];
  return {
    layer,
    head: indexParam(params.head, attention.heads) ?? 0,
    query: indexParam(params.query, queryTokens(trace, attention).length) ?? firstQuery(trace, attention),
    fc1_row: indexParam(params.fc1_row, Infinity) ?? 0,
    fc2_row: indexParam(params.fc2_row, Infinity) ?? 0,
  };
}

/**
 * @param {Pick<Trace, "source" | "target">} trace
 * @param {Pick<AttentionLayer, "queries">} attention
 */
function queryTokens(trace, { queries }) {
  return trace[queries === "target" ? "target" : "source"].pieces;
}

/**
 * The first query with something to see: in a target, one whose next token is a part of a word; in a source, one that is itself.
 * @param {Pick<Trace, "source" | "target">} trace
 * @param {Pick<AttentionLayer, "queries">} attention
 */
export function firstQuery(trace, attention) {
  const tokens = queryTokens(trace, attention);
  const shift = attention.queries === "target" ? 1 : 0;
  return Math.max(
    0,
    tokens.findIndex((_, index) => hasLetters(tokens[index + shift] ?? "")),
  );
}

/** @param {{ store: Store, trace: Trace, place: Place, layerChoice: Ref<HTMLSelectElement | null> }} props */
function PlaceChoice({ store, trace, place, layerChoice }) {
  const { set } = store;
  const { layer, head, query } = place;
  const attention = trace.layers[layer];
  const tokens = queryTokens(trace, attention);
  const layers = trace.layers.map((one, index) => /** @type {[string, string]} */ ([String(index), layerName(one)]));
  return [
    h(
      "div",
      { class: "controls" },
      h(Select, {
        name: "layer",
        selectRef: layerChoice,
        label: t("inside.attention"),
        options: layers,
        value: String(layer),
        onChange: (/** @type {string} */ next) => set({ layer: next, ...LAYER_PARAMS }),
      }),
      h(Select, {
        name: "head",
        label: t("translate.head"),
        options: headOptions(attention.heads).slice(1), // the arithmetic is that of one head
        value: String(head),
        onChange: (/** @type {string} */ next) => set({ head: next, key: "" }),
      }),
    ),
    h(TokenRow, {
      label: t("inside.query"),
      tokens,
      chosen: query,
      onChoose: (/** @type {number} */ index) => set({ query: String(index), ...QUERY_PARAMS }),
    }),
    attention.queries === "target" && h("p", { class: "faint small" }, nextTokenText(tokens, query)),
  ];
}

/** @param {AttentionLayer} attention */
function layerName({ role, layer }) {
  return t(ROLES[/** @type {keyof typeof ROLES} */ (role)], { number: layer + 1 });
}

/**
 * The decoder reads one token and predicts the next.
 * @param {string[]} tokens
 * @param {number} query
 */
function nextTokenText(tokens, query) {
  return t("inside.saying", { read: tokenLabel(tokens[query]), said: tokenLabel(tokens[query + 1] ?? "</s>") });
}
