/** Heads: every layer and head of an attention as small maps; one of them large. */

import { attentionName, headName, layerHeadTitle } from "../../components/attention_names.js";
import { Segmented, Select } from "../../components/controls.js";
import { HeadMap } from "../../components/head_map.js";
import { ImagePicker } from "../../components/image_picker.js";
import { Card, Lead } from "../../components/layout.js";
import { Empty, Loading, NotReady, Problem, withCode } from "../../components/placeholders.js";
import { SentenceForm } from "../../components/sentence_form.js";
import { imageRequest, useImageChoice } from "../../components/use_image_choice.js";
import {
  asRequest,
  captionExperiment,
  changesOf,
  isOpen,
  textExperiment,
} from "../../components/what_if/experiment.js";
import { DisableHead } from "../../components/what_if/head_board.js";
import { WhatIf } from "../../components/what_if/what_if.js";
import { t } from "../../core/i18n.js";
import { useQuery } from "../../core/query.js";
import { paramsOf } from "../../core/store.js";
import { h, useEffect, useMemo } from "../../core/ui.js";
import { headAlignments } from "../../data/head_alignment.js";
import { createMapCache } from "../../data/map_cache.js";
import { headAction } from "../../math/intervention_syntax.js";
import { HeadGrid } from "./head_grid.js";

/** @import { ImageChoice } from "../../components/use_image_choice.js" */
/** @import { Store } from "../../core/store.js" */
/** @import { AttentionLayer, AttentionMap, AnyTrace, AttentionRole, Backend, Model } from "../../data/backend.js" */
/** @import { ScoredSelection } from "../../data/head_alignment.js" */
/** @import { GridRow } from "./head_grid.js" */
/** @typedef {AnyTrace} HeadsTrace of a sentence or of a caption */
/** @typedef {{ model: string, input: unknown, trace: HeadsTrace, withTrace: <T>(use: (trace: { id: string }) => Promise<T>) => Promise<T> }} TraceSource */

const ROLLOUT = "rollout";
const ROLES = /** @type {AttentionRole[]} */ (["cross", "image-cross", "encoder-self", "decoder-self", "image-self"]);
const ALL = "all"; // attentions of the model
const PARAMS = { role: "", map: "", units: "pieces", measure: "weights" };
const MEASURES = /** @type {const} */ ({
  weights: { name: "heads.measure_weights", text: null },
  norm: { name: "heads.measure_norm", text: "heads.measure_norm_text" },
  zeroing: { name: "heads.measure_zeroing", text: "heads.measure_zeroing_text" },
});

export const headsView = { id: "heads", title: /** @type {const} */ ("heads.title"), View: Heads };

/** @param {{ store: Store }} props */
function Heads({ store }) {
  const { data } = store;
  const model = store.model.value;
  const isOfImages = Boolean(model?.reads_images);
  const isUsable = Boolean(model?.is_ready && model.has_attention);
  const choice = useImageChoice(store, isOfImages && model?.is_ready ? model : null);
  const source = useTraceSource(store, isUsable ? model : null, choice);
  const scores = useQuery(isUsable && model && !isOfImages && ((signal) => headAlignments(data, model, { signal })), [
    model?.name,
    isUsable,
  ]);
  return h(
    "div",
    { class: "view" },
    h(Lead, { title: t("heads.heading") }, t("heads.lead")),
    model && !isOfImages && h(SentenceForm, { store }),
    model?.is_ready && isOfImages && h(ImagePicker, { store, model, choice }),
    isUsable && h(WhatIf, { store, experiment: experiment(), trace: source.data?.trace }),
    body(),
  );

  function experiment() {
    const text = store.text.value;
    if (isOfImages && model) return choice.given && captionExperiment(store, imageRequest(model, choice.given));
    return model && text ? textExperiment(store, model, text) : null;
  }

  function body() {
    if (!model?.is_ready) return h(NotReady, { model });
    if (!model.has_attention)
      return h(Empty, null, t(isOfImages ? "heads.none_pictures" : "heads.none", { model: model.name }));
    if (isOfImages && choice.given && "image" in choice.given && !choice.given.image)
      return h(Empty, null, t("pictures.large"));
    const error = source.error ?? (isOfImages ? choice.error : null);
    if (error) return h(Problem, { error });
    if (!source.data || scores.isLoading)
      return isOfImages && !choice.isLoading && !choice.given ? null : h(Loading, null);
    return h(HeadsOfTrace, { store, source: source.data, scores: scores.data ?? [] });
  }
}

/**
 * The trace of the sentence or of the image, and how to request more of it.
 * @param {Store} store
 * @param {Model | null} model
 * @param {ImageChoice} choice
 */
function useTraceSource(store, model, { given }) {
  const { traces } = store;
  const text = store.text.value;
  const changes = changesOf(store);
  const isOfImages = Boolean(model?.reads_images);
  const hasInput = isOfImages ? given && !("image" in given && !given.image) : text;
  const load = async (/** @type {AbortSignal} */ signal) => {
    const name = /** @type {Model} */ (model).name;
    const options = { signal };
    if (isOfImages) {
      const request = { ...imageRequest(/** @type {Model} */ (model), given), ...asRequest(changes) };
      const caption = await traces.captions.get(request, options);
      return /** @type {TraceSource} */ ({
        model: name,
        input: given,
        trace: caption,
        withTrace: (use) => traces.captions.withTrace(request, use, options),
      });
    }
    const request = { model: name, text, ...asRequest(changes) };
    return /** @type {TraceSource} */ ({
      model: name,
      input: text,
      trace: await traces.get(request, options),
      withTrace: (use) => traces.withTrace(request, use, options),
    });
  };
  const input = isOfImages ? given : text;
  const query = useQuery(model && hasInput ? load : null, [model?.name, input, changes.join("\n")], {
    keepsData: true,
  });
  const isSame = query.data?.input === input && query.data?.model === model?.name;
  return isSame ? query : { ...query, data: null }; // maps stay while a change is computed, not for another input
}

/** @param {{ store: Store, source: TraceSource, scores: ScoredSelection[] }} props */
function HeadsOfTrace({ store, source, scores }) {
  const { trace } = source;
  const params = paramsOf(store, PARAMS);
  const maps = useMaps(store.data, source);
  const roles = ROLES.filter((role) => trace.layers.some((layer) => layer.role === role));
  const role = params.role === ALL ? ALL : (roles.find((known) => known === params.role) ?? roles[0]);
  const changes = changesOf(store);
  const shownRoles = roles.filter((known) => role === ALL || known === role);
  const rows = shownRoles.flatMap((known) => headRows(trace, known, scores, changes, role === ALL));
  const heads = rows.flatMap((row) => row.heads);
  const chosen = heads.find(({ name }) => name === params.map) ?? heads.find(({ isBest }) => isBest) ?? heads[0];
  const canMeasure = layerOf(trace, chosen.name) && !store.data.isEmbedded;
  const measure = canMeasure && isMeasure(params.measure) ? params.measure : "weights";
  const load = async (/** @type {AbortSignal} */ signal) => ({
    ...{ measure, trace, name: chosen.name },
    map: await (measure === "weights"
      ? maps.get(chosen.name)
      : measured(store.data, source, chosen.name, measure, signal)),
  });
  const query = useQuery(load, [chosen.name, maps, measure], { keepsData: true });
  const shown = query.data ?? { measure, trace, name: chosen.name, map: null }; // the last map keeps its title and labels while the next one is loading
  const layer = layerOf(shown.trace, shown.name);
  const headText = shown.name.split("/")[1];
  const head = Number.isNaN(Number(headText)) ? null : Number(headText);
  const title = layer
    ? layerHeadTitle(layer, shown.measure === "zeroing" ? "all" : headText)
    : t("heads.rollout_title");
  useEffect(() => {
    store.announcement.value = title;
  }, [title]);
  const roleChoice = h(Segmented, {
    label: t("heads.attention"),
    options: [
      .../** @type {[string, string][]} */ (roles.map((known) => [known, attentionName(known)])),
      [ALL, t("heads.every")],
    ],
    value: role,
    onChange: (/** @type {string} */ next) => store.set({ role: next, map: "", cell: "" }),
  });
  const unitChoice = h(Segmented, {
    label: t("heads.units"),
    options: [
      ["pieces", t("heads.pieces")],
      ["words", t("heads.words")],
    ],
    value: params.units,
    onChange: (/** @type {string} */ units) => store.set({ units, cell: "" }),
  });
  const isScored = scores.length > 0;
  const { text } = MEASURES[shown.measure];
  const map = shown.map && {
    ...{ store, map: shown.map, trace: shown.trace, layer, head, title, asWords: params.units === "words" },
    ...(text && { text: t(text) }),
    isEditable: shown.measure === "weights",
  };
  const measureChoice = h(Select, {
    label: t("heads.measure"),
    options: /** @type {[string, string][]} */ (Object.entries(MEASURES).map(([id, { name }]) => [id, t(name)])),
    value: measure,
    onChange: (value) => store.set({ measure: value === "weights" ? "" : value, cell: "" }),
  });
  const canDisable = layer && head !== null && isOpen(store) && !store.data.isEmbedded;
  const tools = h(
    "div",
    { class: "controls" },
    canDisable && h(DisableHead, { store, address: { role: layer.role, layer: layer.layer, head } }),
    unitChoice,
    canMeasure && measureChoice,
  );
  return h(
    "div",
    { class: "heads-body" },
    h(
      "div",
      null,
      h(Card, { title, beside: tools }, query.error && h(Problem, { error: query.error }), map && h(HeadMap, map)),
    ),
    h(
      "div",
      null,
      h(
        Card,
        {
          title: t("heads.all"),
          explanation: t(isScored && role === "cross" ? "heads.grid_errors" : "heads.grid"),
          beside: roles.length > 1 && roleChoice,
        },
        !isScored && role === "cross" && h("p", { class: "faint explanation" }, withCode(t("heads.no_errors"))),
        h(HeadGrid, {
          key: role,
          rows,
          load: maps.get,
          chosen: chosen.name,
          onChoose: (name) => store.set({ role: String(role), map: name, cell: "" }),
        }),
      ),
    ),
  );
}

/**
 * @param {string} name
 * @returns {name is keyof typeof MEASURES}
 */
function isMeasure(name) {
  return Object.hasOwn(MEASURES, name);
}

/**
 * A measure of one head, or of a layer where it has no heads, in place of its weights.
 * @param {Backend} data
 * @param {TraceSource} source
 * @param {string} name
 * @param {"norm" | "zeroing"} measure
 * @param {AbortSignal} signal
 */
function measured(data, source, name, measure, signal) {
  const [layer, head] = name.split("/");
  return source.withTrace(({ id }) =>
    measure === "norm"
      ? data.normWeights(id, { layer: Number(layer), head }, { signal })
      : data.valueZeroing(id, Number(layer), { signal }),
  );
}

/**
 * The maps of a trace; requests end with the view.
 * @param {Backend} data
 * @param {TraceSource} source
 */
function useMaps(data, source) {
  const { maps, end } = useMemo(() => {
    const stop = new AbortController();
    const options = { signal: stop.signal };
    const fetchMap = (/** @type {string} */ name) => {
      const [layer, head] = name.split("/");
      return source.withTrace(
        ({ id }) =>
          /** @type {Promise<AttentionMap>} */ (
            name === ROLLOUT ? data.rollout(id, options) : data.weights(id, { layer: Number(layer), head }, options)
          ),
      );
    };
    const cache = createMapCache(fetchMap);
    const end = () => {
      stop.abort();
      cache.forget();
    };
    return { maps: cache, end };
  }, [source]);
  useEffect(() => end, [end]);
  return maps;
}

/**
 * The rows of small maps: each layer's heads and their mean; for the encoder also the rollout of all layers.
 * @param {HeadsTrace} trace
 * @param {AttentionRole} role
 * @param {ScoredSelection[]} scores the best first
 * @param {string[]} [changes] interventions of the reader
 * @param {boolean} [namesRole] the grid has other attentions, too
 * @returns {GridRow[]}
 */
function headRows(trace, role, scores, changes = [], namesRole = false) {
  const best = scores.find(({ layer, head }) => layer !== "mean" && head !== "mean");
  const layers = trace.layers.map((layer, index) => ({ ...layer, index })).filter((layer) => layer.role === role);
  const rows = layers.map(({ layer, index, heads: count }) => {
    const layerTitle = t("heads.layer", { layer: layer + 1 });
    const title = namesRole ? `${attentionName(role)}: ${layerTitle}` : layerTitle;
    /** @type {(number | "mean")[]} */
    const names = [...Array(count).keys(), ...(count > 1 ? [/** @type {const} */ ("mean")] : [])];
    const heads = names.map((head) => {
      const score = role === "cross" ? scores.find((known) => known.layer === layer && known.head === head) : undefined;
      return {
        name: `${index}/${head}`,
        rowTitle: title,
        label: head === "mean" ? t("heads.mean") : headName(head),
        caption: score ? t("heads.error", { error: score.error.toFixed(2) }) : "",
        isBest: score !== undefined && score === best,
        isOff: head !== "mean" && headAction(changes, { role, layer, head }) !== null,
      };
    });
    return { title, heads };
  });
  if (role === "encoder-self" && layers.length) {
    const title = t("heads.all_layers");
    rows.push({
      title,
      heads: [{ name: ROLLOUT, rowTitle: title, label: t("heads.rollout"), caption: "", isBest: false, isOff: false }],
    });
  }
  return rows;
}

/**
 * @param {HeadsTrace} trace
 * @param {string} name
 * @returns {AttentionLayer | null} null for the rollout of all layers
 */
function layerOf(trace, name) {
  return name === ROLLOUT ? null : trace.layers[Number(name.split("/")[0])];
}
