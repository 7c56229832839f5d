/** Pictures: a model describes an image word by word; each word with its attention over the image and the arithmetic behind it. */

import { ImagePicker } from "../../components/image_picker.js";
import { SeenImage, WordPanels } from "../../components/image_words.js";
import { Card, Lead } from "../../components/layout.js";
import { Empty, Loading, NotReady, Problem, withCode } from "../../components/placeholders.js";
import { useImageChoice } from "../../components/use_image_choice.js";
import { asRequest, captionExperiment, changesOf } from "../../components/what_if/experiment.js";
import { WhatIf } from "../../components/what_if/what_if.js";
import { t } from "../../core/i18n.js";
import { useQuery } from "../../core/query.js";
import { h, useEffect, useMemo, useState } from "../../core/ui.js";
import { indexParam } from "../../core/url.js";
import { isTraceGone } from "../../data/errors.js";
import { modelFor } from "../../data/models.js";
import { partialWord, wordMaps } from "../../math/image_attention.js";
import { CaptionAttention, MapChoices } from "./caption_attention.js";

/** @import { GivenImage } from "../../components/use_image_choice.js" */
/** @import { Store } from "../../core/store.js" */
/** @import { Backend, Caption, Model, PartialCaption, ImagePreview } from "../../data/backend.js" */
/** @import { CaptionMaps } from "./caption_attention.js" */
/** @typedef {{ preview: ImagePreview | null, partial: PartialCaption | null, caption: Caption | null, error: Error | null }} CaptionState */

const TRAINING_COMMANDS = [
  "regard data generate scenes --out runs/scenes/data --train 40000",
  "regard train recipes/scenes-attention.toml",
];
const MOST_ROUNDS = 5; // descriptions of one image, should a server forget each at once
/** @type {CaptionState} */
const NOT_BEGUN = { preview: null, partial: null, caption: null, error: null };

export const picturesView = {
  id: "pictures",
  title: /** @type {const} */ ("pictures.title"),
  tasks: ["image-to-text"],
  View: Pictures,
};

/** @param {{ store: Store }} props */
function Pictures({ store }) {
  const model = modelFor(store.models.value, store.model.value, "image-to-text");
  const choice = useImageChoice(store, model?.is_ready ? model : null);
  return h(
    "div",
    { class: "view pictures" },
    h(Lead, { title: t("pictures.heading") }, t(store.data.isEmbedded ? "pictures.lead_fixed" : "pictures.lead")),
    model?.is_ready && h(ImagePicker, { store, model, choice }),
    body(),
  );

  function body() {
    if (!model) {
      const commands = h("pre", { class: "command" }, TRAINING_COMMANDS.join("\n"));
      return h(Empty, null, withCode(t("pictures.none")), commands);
    }
    if (!model.is_ready) return h(NotReady, { model });
    if (choice.error) return h(Problem, { error: choice.error });
    return choice.given && described(model, choice.given);
  }

  function described(/** @type {Model} */ captioner, /** @type {GivenImage} */ given) {
    const isTooLarge = "image" in given && given.image === null;
    return isTooLarge ? h(Empty, null, t("pictures.large")) : h(DescribedImage, { store, model: captioner, given });
  }
}

/** @param {{ store: Store, model: Model, given: GivenImage }} props */
function DescribedImage({ store, model, given }) {
  const { data } = store;
  const [round, setRound] = useState(0);
  const changes = changesOf(store);
  const { preview, partial, caption, error } = useCaption(store, model.name, given, changes, round);
  const layers = (caption?.layers ?? [])
    .map((layer, index) => ({ ...layer, index }))
    .filter(({ role }) => role === "image-cross");
  const { layer: layerText, head: headText } = store.url.value;
  const layer = layers.find(({ index }) => String(index) === layerText) ?? layers.at(-1) ?? null;
  const head = layer ? String(indexParam(headText, layer.heads) ?? "mean") : "mean";
  const query = useQuery(
    caption && layer && ((signal) => captionMaps(data, caption, layer.index, head, signal)),
    [caption, layer?.index, head],
    { keepsData: true },
  );
  useEffect(() => {
    if (caption) store.announcement.value = caption.text;
  }, [caption]);
  const describeAgain = () => setRound((last) => Math.min(last + 1, MOST_ROUNDS));
  useEffect(() => {
    if (isTraceGone(query.error)) describeAgain();
  }, [query.error]);
  const experiment = captionExperiment(store, { model: model.name, ...given });
  return [h(WhatIf, { store, experiment, trace: caption }), shown()];

  function shown() {
    const problem = error ?? query.error;
    if (problem) return h(Problem, { error: problem });
    if (caption && !layer) return h(BlindCaption, { caption });
    if (caption && layer && query.data?.caption === caption) {
      const choices = h(MapChoices, { store, layers, layer, head });
      return h(CaptionAttention, { store, maps: query.data, layer: layer.index, head, choices, onGone: describeAgain });
    }
    return preview ? h(GrowingCaption, { model: model.name, preview, partial }) : h(Loading, null);
  }
}

/**
 * The caption of an image as it is generated; another image or model ends the request before.
 * @param {Store} store
 * @param {string} model
 * @param {GivenImage} given
 * @param {string[]} changes
 * @param {number} round a new one describes the image again, since the server has forgotten the trace
 * @returns {CaptionState}
 */
function useCaption({ data, traces }, model, given, changes, round) {
  const request = useMemo(() => Symbol("request"), [data, model, given, changes.join("\n"), round]);
  const [state, setState] = useState({ ...NOT_BEGUN, request });
  useEffect(() => {
    const stop = new AbortController();
    const change = (/** @type {Partial<CaptionState>} */ changes) => {
      if (!stop.signal.aborted)
        setState((last) => ({ ...(last.request === request ? last : NOT_BEGUN), ...changes, request }));
    };
    const follow = async () => {
      if (changes.length) {
        const changed = { model, ...given, ...asRequest(changes) };
        return change({ caption: await traces.captions.get(changed, { signal: stop.signal }) });
      }
      for await (const event of data.caption({ model, ...given }, { signal: stop.signal })) {
        if (event.event === "image") change({ preview: event });
        else if (event.event === "partial") change({ partial: event });
        else change({ caption: event });
      }
    };
    follow().catch((error) => change({ error }));
    return () => stop.abort();
  }, [request]);
  return state.request === request ? state : NOT_BEGUN;
}

/**
 * @param {Backend} data
 * @param {Caption} caption
 * @param {number} layer
 * @param {string} head
 * @param {AbortSignal} signal
 * @returns {Promise<CaptionMaps>}
 */
async function captionMaps(data, caption, layer, head, signal) {
  const { weights } = await data.weights(
    caption.id,
    { layer, head: head === "mean" ? head : Number(head) },
    { signal },
  );
  return { caption, words: wordMaps(caption.target, caption, weights) };
}

/** @param {{ model: string, preview: ImagePreview, partial: PartialCaption | null }} props */
function GrowingCaption({ model, preview, partial }) {
  const words = (partial?.words ?? []).map((word) => partialWord(word, preview));
  return h(
    Card,
    { title: t("pictures.caption"), explanation: t("pictures.reading") },
    h(
      "div",
      { class: "stack" },
      h(
        "p",
        { class: "caption-text", dir: "auto" },
        partial?.text,
        partial && h("span", { class: "caret", "aria-hidden": "true" }),
      ),
      h(
        "div",
        { class: "region-words" },
        h(SeenImage, { image: preview.image, label: t("pictures.seen", { model }) }),
        words.map((word, index) =>
          h("div", { key: index, class: "region-word" }, h(WordPanels, { grid: preview, word })),
        ),
      ),
    ),
  );
}

/**
 * The caption of a model without attention.
 * @param {{ caption: Caption }} props
 */
function BlindCaption({ caption: { text, image, model } }) {
  return h(
    Card,
    { title: t("pictures.caption") },
    h(
      "div",
      { class: "stack" },
      h("p", { class: "caption-text", dir: "auto" }, text),
      h(SeenImage, { image, label: t("pictures.seen", { model }) }),
      h("p", { class: "explain" }, t("pictures.blind", { model })),
    ),
  );
}
