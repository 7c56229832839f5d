/** A caption over its image: each word with its attention map, whether it points at what it refers to, and its arithmetic. */

import { imageMaps, peakText } from "../../charts/image_maps.js";
import { SaveButtons } from "../../charts/plot.js";
import { headOptions } from "../../components/attention_names.js";
import { AttentionSteps } from "../../components/attention_steps/attention_steps.js";
import { Select } from "../../components/controls.js";
import { SeenImage, WordPanels } from "../../components/image_words.js";
import { Card } from "../../components/layout.js";
import { Problem } from "../../components/placeholders.js";
import { t } from "../../core/i18n.js";
import { useQuery } from "../../core/query.js";
import { Fragment, h, useEffect } from "../../core/ui.js";
import { indexParam } from "../../core/url.js";
import { isTraceGone } from "../../data/errors.js";
import { hitsBox } from "../../math/image_attention.js";

/** @import { Store } from "../../core/store.js" */
/** @import { VNode } from "../../core/ui.js" */
/** @import { ArithmeticRequest, Backend, Caption } from "../../data/backend.js" */
/** @import { Box, WordMap } from "../../math/image_attention.js" */
/** @typedef {{ caption: Caption, words: WordMap[] }} CaptionMaps */

/** @param {{ store: Store, layers: { index: number, layer: number }[], layer: { index: number, heads: number }, head: string }} props */
export function MapChoices({ store, layers, layer, head }) {
  const layerOptions = layers.map(
    ({ index, layer: number }) =>
      /** @type {[string, string]} */ ([String(index), t("heads.layer", { layer: number + 1 })]),
  );
  return h(
    "div",
    { class: "controls" },
    layers.length > 1 &&
      h(Select, {
        label: t("pictures.layer"),
        options: layerOptions,
        value: String(layer.index),
        onChange: (value) => store.set({ layer: value, key: "" }),
      }),
    layer.heads > 1 &&
      h(Select, {
        label: t("pictures.head"),
        options: headOptions(layer.heads),
        value: head,
        onChange: (value) => store.set({ head: value, key: "" }),
      }),
  );
}

/** @param {{ store: Store, maps: CaptionMaps, layer: number, head: string, choices: VNode, onGone: () => void }} props onGone: the server has forgotten the trace */
export function CaptionAttention({ store, maps, layer, head, choices, onGone }) {
  const { caption, words } = maps;
  const boxes = (/** @type {number} */ index) => boxesOf(maps, index);
  const chosen = indexParam(store.url.value.word, words.length) ?? 0;
  const buttons = words.map((_, index) =>
    h(WordButton, {
      key: index,
      maps,
      index,
      isChosen: index === chosen,
      onChoose: () => store.set({ word: String(index), key: "" }),
    }),
  );
  const saving = h(SaveButtons, { chart: imageMaps({ grid: caption, words, title: caption.text, boxes }) });
  return h(
    Fragment,
    null,
    h(
      Card,
      { title: t("pictures.caption"), explanation: t("pictures.reading"), beside: saving },
      h(
        "div",
        { class: "stack" },
        h("p", { class: "caption-text", dir: "auto" }, caption.text),
        choices,
        h(
          "div",
          { class: "region-words", role: "group", "aria-label": t("pictures.caption") },
          h(SeenImage, { image: caption.image, label: t("pictures.seen", { model: caption.model }) }),
          buttons,
        ),
        h("p", { class: "faint" }, pointingText(maps)),
      ),
    ),
    words.length > 0 && h(WordArithmetic, { store, caption, word: words[chosen], layer, head, onGone }),
  );
}

/**
 * What a word refers to; known where the caption is word for word the right one.
 * @param {CaptionMaps} maps
 * @param {number} index
 * @returns {Box[]}
 */
function boxesOf({ caption: { gold }, words }, index) {
  const isRight = gold && gold.words.join(" ") === words.map(({ text }) => text).join(" ");
  return isRight ? gold.boxes[index] : [];
}

/** @param {{ maps: CaptionMaps, index: number, isChosen: boolean, onChoose: () => void }} props */
function WordButton({ maps, index, isChosen, onChoose }) {
  const { caption, words } = maps;
  const word = words[index];
  const boxes = boxesOf(maps, index);
  const isHit = boxes.length ? hitsBox(word.peak, caption, boxes) : null;
  const verdict = isHit === null ? "" : `; ${t(isHit ? "pictures.hit" : "pictures.miss")}`;
  const mark = isHit === null ? "" : isHit ? " ✓" : " ✗";
  const logProbability = word.tokens.reduce((sum, token) => sum + caption.log_probabilities[token - 1], 0);
  const title = t("pictures.probability", { percent: (100 * Math.exp(logProbability)).toFixed(1) });
  return h(
    "button",
    { type: "button", class: "region-word", "aria-pressed": String(isChosen), title, onClick: onChoose },
    h(WordPanels, { grid: caption, word, boxes, mark }),
    h("span", { class: "only-heard" }, ` ${peakText(word)}${verdict}`),
  );
}

/**
 * How many words attend most to what they refer to.
 * @param {CaptionMaps} maps
 */
function pointingText(maps) {
  const { caption, words } = maps;
  if (!caption.gold) return null;
  const boxed = words.map((word, index) => ({ word, boxes: boxesOf(maps, index) })).filter(({ boxes }) => boxes.length);
  if (!boxed.length) return t("pictures.differs", { caption: caption.gold.words.join(" ") });
  const hits = boxed.filter(({ word, boxes }) => hitsBox(word.peak, caption, boxes)).length;
  return t("pictures.pointing", { hits, words: boxed.length });
}

/**
 * The steps from a word's query to its weights, in the chosen head or, for the mean, in the first.
 * @param {{ store: Store, caption: Caption, word: WordMap, layer: number, head: string, onGone: () => void }} props
 */
function WordArithmetic({ store, caption, word, layer, head, onGone }) {
  const { fc1_row, fc2_row } = store.url.value;
  const query = word.tokens[0] - 1;
  const place = { layer, head: head === "mean" ? 0 : Number(head), query, fc1_row, fc2_row };
  const detail = useQuery(
    (signal) => wordDetail(store.data, caption, place, word, signal),
    [caption, layer, head, query, fc1_row, fc2_row],
    { keepsData: true },
  );
  useEffect(() => {
    if (isTraceGone(detail.error)) onGone();
  }, [detail.error]);
  if (detail.error) return h(Problem, { error: detail.error });
  const shown = detail.data?.caption === caption ? detail.data : null;
  if (!shown?.detail) return null;
  return h(
    "div",
    { class: "view" },
    h(
      "div",
      { class: "lead" },
      h("h2", null, t("pictures.arithmetic", { word: shown.word.text })),
      h("p", null, t("pictures.arithmetic_text")),
    ),
    h(AttentionSteps, { detail: shown.detail, params: store.url.value, onChange: store.set }),
  );
}

/**
 * @param {Backend} data
 * @param {Caption} caption
 * @param {ArithmeticRequest} place
 * @param {WordMap} word
 * @param {AbortSignal} signal
 */
async function wordDetail(data, caption, place, word, signal) {
  const detail = await data.arithmetic(caption.id, place, { signal }).catch((error) => {
    if (error.code === "embedded") return null; // a large file has maps alone
    throw error;
  });
  return { caption, word, detail };
}
