/** Heads: every layer and head of an attention as small maps; one of them large. */

import { measuredReadings } from "./gold.js";
import { clear, h } from "./make.js";
import { headThumbs } from "./head_thumbs.js";
import { largeHead } from "./head_large.js";
import { mapStore } from "./map_store.js";
import { card, emptyNote, isAbandoned, lead, noModelNote, problemNote, segments, waitingNote } from "./notes.js";
import { describedPicture, picturePicker } from "./picture_picker.js";
import { sentenceBar } from "./sentence_bar.js";
import { askTrace, traceOf } from "./tracing.js";
import { t } from "./text.js";

const ROLLOUT = "rollout";
const USES = ["cross", "picture", "encoder-self", "decoder-self", "picture-self"];

export const headsView = { id: "heads", title: "heads.title", mount: mountHeads };

function mountHeads(root, app) {
  const view = {
    app, chosen: null, trace: null, readings: [], thumbs: null, large: null, leaving: new AbortController(),
    gridCard: h("div"), largeCard: h("div"),
  };
  app.state.heads ??= { use: "cross", asWords: false };
  const bar = sentenceBar(app, (text) => takesPictures(app) || readSentence(view, text));
  view.picker = picturePicker(app, (given) => readPicture(view, given), view.leaving.signal);
  view.body = h("div", { class: "heads-body" }, view.largeCard, view.gridCard);
  root.append(h("div", { class: "view" }, lead(t("heads.heading"), t("heads.lead")), bar.node, view.picker.node, view.body));
  const begin = () => {
    bar.node.hidden = takesPictures(app) || !app.model();
    view.picker.node.hidden = !takesPictures(app);
    if (takesPictures(app)) beginPictures(view);
  };
  begin();
  const stopModel = app.onModel(() => {
    begin();
    if (!takesPictures(app)) readSentence(view, app.state.source);
  });
  return () => {
    view.leaving.abort();
    stopModel();
    discard(view);
  };
}

function discard(view) {
  view.thumbs?.stop();
  view.large?.stop();
  view.store?.forget();
}

function takesPictures(app) {
  return app.model()?.takes === "pictures";
}

/** A model that takes pictures was chosen: what was shown goes, and a picture is described where there is one. */
function beginPictures(view) {
  const model = view.app.model();
  view.request = null;
  say(view, model.is_ready ? null : emptyNote(t("note.notReady", { model: model.name })));
  if (model.is_ready) view.picker.begin();
}

/** Trace a sentence with the chosen model and show its heads. */
function readSentence(view, text) {
  const { app } = view;
  const request = { text, model: app.model()?.name };
  return readTrace(view, request, async (model, options) => {
    const [trace, readings] = await Promise.all([traceOf(app, request, options), measuredReadings(app, model)]);
    return { trace, readings, ask: (fetchFrom) => askTrace(app, request, fetchFrom) };
  });
}

/** Have a picture described by the chosen model and show its heads. */
function readPicture(view, given) {
  if (given.picture === null) return say(view, emptyNote(t("pictures.large")));
  return readTrace(view, given, async (model, options) => {
    const describe = () => describedPicture(view.app, { model: model.name, ...given }, options);
    let trace = await describe();
    const ask = (fetchFrom) =>
      fetchFrom(trace).catch(async (problem) => {
        if (problem.code !== "trace_gone") throw problem;
        trace = await describe();
        return fetchFrom(trace);
      });
    return { trace, readings: [], ask };
  });
}

/** What was asked for is shown unless something else is asked for meanwhile. */
async function readTrace(view, request, read) {
  const model = view.app.model();
  if (!model) return say(view, noModelNote(view.app, t("note.noModel")));
  if (!model.is_ready) return say(view, emptyNote(t("note.notReady", { model: model.name })));
  if (!model.has_attention) return say(view, emptyNote(t(`heads.none${takesPictures(view.app) ? "Pictures" : ""}`, { model: model.name })));
  say(view, waitingNote());
  view.request = request;
  try {
    const found = await read(model, { signal: view.leaving.signal });
    if (view.request !== request || view.leaving.signal.aborted) return;
    Object.assign(view, found);
    showTrace(view);
  } catch (problem) {
    if (!isAbandoned(problem) && view.request === request) say(view, problemNote(problem));
  }
}

function say(view, note) {
  discard(view);
  clear(view.largeCard);
  clear(view.gridCard, note);
}

function showTrace(view) {
  const { app, trace, ask } = view;
  const fetchMap = (name) =>
    ask((fresh) =>
      name === ROLLOUT ? app.api.rollout(fresh.id) : app.api.weights(fresh.id, { layer: name.split("/")[0], head: name.split("/")[1] }));
  discard(view);
  view.store = mapStore(fetchMap);
  const uses = USES.filter((use) => trace.layers.some((layer) => layer.use === use));
  if (!uses.includes(app.state.heads.use)) app.state.heads.use = uses[0];
  showUse(view, uses);
}

function showUse(view, uses) {
  view.thumbs?.stop();
  const { heads, head } = view.app.state;
  const rows = thumbRows(view);
  view.thumbs = headThumbs(rows, { load: (name) => view.store.get(name), choose: (name) => enlarge(view, name, true) });
  const choice = segments(t("heads.attention"), uses.map((use) => [use, t(`heads.${use}`)]), heads.use, (use) => {
    heads.use = use;
    showUse(view, uses);
    view.gridCard.querySelector('[aria-pressed="true"]')?.focus();
  });
  const isMeasured = view.readings.length > 0;
  const hint = isMeasured && heads.use === "cross" ? t("heads.gridErrors") : t("heads.grid");
  const note = !isMeasured && heads.use === "cross" && h("p", { class: "faint explanation" }, t("heads.noErrors"));
  clear(view.gridCard, card(t("heads.all"), { explanation: hint, beside: uses.length > 1 && choice }, note, view.thumbs.node));
  const all = rows.flatMap((row) => row.heads);
  enlarge(view, (all.find(({ name }) => name === head) ?? all.find(({ isBest }) => isBest) ?? all[0]).name, false);
}

/** The rows of small maps: each layer's heads and their mean; for the encoder also all layers rolled into one. */
function thumbRows(view) {
  const { use } = view.app.state.heads;
  const layers = view.trace.layers.map((layer, index) => ({ ...layer, index })).filter((layer) => layer.use === use);
  const rows = layers.map((layer) => ({
    title: t("heads.layer", { layer: layer.layer + 1 }),
    heads: [...Array(layer.heads).keys(), ...(layer.heads > 1 ? ["mean"] : [])].map((head) => thumbFor(view, layer, head)),
  }));
  if (use === "encoder-self" && layers.length) {
    rows.push({ title: t("heads.allLayers"), heads: [{ name: ROLLOUT, place: t("heads.allLayers"), short: t("heads.rollout") }] });
  }
  return rows;
}

function thumbFor(view, layer, head) {
  const isMean = head === "mean";
  const reading = layer.use === "cross" ? lesserError(view.readings, layer.layer, isMean ? null : head) : null;
  const heads = view.readings.filter((one) => one.layer !== null && one.head !== null);
  return {
    name: `${layer.index}/${head}`,
    place: t("heads.layer", { layer: layer.layer + 1 }),
    short: isMean ? t("heads.mean") : t("heads.head", { head: head + 1 }),
    caption: reading && t("heads.error", { error: reading.error.toFixed(2) }),
    isBest: reading !== null && !isMean && heads[0] === reading,
  };
}

/** Of the two ways to read a head, the one that errs less; the server sends the best first. */
function lesserError(readings, layer, head) {
  return readings.find((one) => one.layer === layer && one.head === head) ?? null;
}

async function enlarge(view, name, isAsked) {
  view.chosen = name;
  if (isAsked) view.app.state.head = name;
  view.thumbs.mark(name);
  const map = await view.store.get(name).catch((problem) => problem);
  if (view.chosen !== name || view.leaving.signal.aborted) return;
  if (map instanceof Error) return void clear(view.largeCard, problemNote(map));
  showLarge(view, name, map);
  if (isAsked && view.largeCard.getBoundingClientRect().top < 0) view.largeCard.scrollIntoView({ block: "start" });
}

function showLarge(view, name, map) {
  const { heads } = view.app.state;
  const layer = name === ROLLOUT ? { queries: "source", keys: "source", use: "encoder-self" } : view.trace.layers[name.split("/")[0]];
  const title = name === ROLLOUT ? t("heads.rolloutTitle") : titleOf(layer, name.split("/")[1]);
  const units = segments(t("heads.units"), [[false, t("heads.pieces")], [true, t("heads.words")]], heads.asWords, (asWords) => {
    heads.asWords = asWords;
    showLarge(view, name, map);
    view.largeCard.querySelector('[aria-pressed="true"]')?.focus();
  });
  view.large?.stop();
  const sideOf = (side) => view.trace[side === "target" ? "target" : "source"]; // a picture's places are its source
  const sides = { rows: sideOf(layer.queries), columns: sideOf(layer.keys) };
  const width = Math.max(280, Math.min(640, view.largeCard.clientWidth - 50));
  view.large = largeHead({ map, sides, use: name === ROLLOUT ? ROLLOUT : layer.use, title, asWords: heads.asWords, width });
  clear(view.largeCard, card(title, { beside: units }, view.large.node));
  view.app.say(title);
}

function titleOf(layer, head) {
  const which = head === "mean" ? t("heads.meanOfHeads") : t("heads.head", { head: Number(head) + 1 });
  return `${t(`heads.${layer.use}`)}: ${t("heads.layer", { layer: layer.layer + 1 })}, ${which}`;
}
