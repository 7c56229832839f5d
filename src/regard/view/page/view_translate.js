/** Translate: type, watch the translation appear, and see which words it looked at. */

import { whenWidthChanges } from "./fitting.js";
import { measuredReadings } from "./gold.js";
import { heatmap } from "./heatmap.js";
import { clear, h } from "./make.js";
import { card, isAbandoned, lead, noModelNote, otherNote, problemNote } from "./notes.js";
import { savingButtons } from "./saving.js";
import { t } from "./text.js";
import { askTrace } from "./tracing.js";
import { composer } from "./translate_composer.js";
import { outputList, realWords, spokenDetail, wordDetail } from "./translate_detail.js";
import { bestReading, readingControls } from "./translate_reading.js";
import { drawnLinks, wordRows } from "./translate_words.js";
import { unlearnedWords } from "./wording.js";

const OUTPUTS = 5;
const EXAMPLES_SHOWN = 5;
const MEAN_READING = { layer: "mean", head: "mean", when: "said" };
const WIDEST_MAP = 620;
const MOST_UNLEARNED = 4; // words that are named

export const translateView = { id: "translate", title: "translate.title", takes: "text", mount: mountTranslate };

function mountTranslate(root, app) {
  const view = translateParts(app);
  clear(
    root,
    h(
      "div",
      { class: "view translate" },
      lead(t("translate.heading"), t(app.api.isEmbedded ? "translate.lead_fixed" : "translate.lead")),
      view.composer.node,
      view.result,
    ),
  );
  const stopModel = app.onModel(() => beginTranslate(app, view));
  beginTranslate(app, view);
  return () => {
    view.asking.abort();
    view.stops.forEach((stop) => stop());
    stopModel();
  };
}

/** All that the view holds: its parts, what was asked and what was answered. */
function translateParts(app) {
  const view = {
    asking: new AbortController(),
    stops: [],
    examples: [],
    outputs: [],
    readings: null,
    reading: { ...MEAN_READING },
    isAsking: false,
    text: app.state.source,
    target: null,
    alignment: null,
    map: null,
    words: null,
    result: h("div", { class: "translate-result" }),
  };
  view.composer = composer(app, (text) => translateText(app, view, text));
  view.controls = readingControls({
    reading: view.reading,
    onReading(reading) {
      view.reading = app.state.reading = reading;
      guarded(view, () => showReading(app, view));
    },
  });
  return view;
}

/** A model was chosen: its examples and readings, and the last text (or the first example) translated by it. */
async function beginTranslate(app, view) {
  const model = app.model();
  if (!model) view.composer.node.hidden = true;
  if (!model?.is_ready) return void clear(view.result, noModelNote(app, t("translate.no_model")));
  view.composer.node.hidden = model.takes !== "text";
  if (model.takes !== "text") {
    view.asking.abort();
    return void clear(view.result, otherNote(app));
  }
  Object.assign(view, { readings: null, reading: app.state.reading ?? { ...MEAN_READING } });
  const { examples } = await app.api.examples({ source: model.source, target: model.target }).catch(() => ({ examples: [] }));
  if (model !== app.model()) return;
  view.examples = examples;
  measuredReadings(app, model).then((readings) => readings.length && model === app.model() && takeReadings(app, view, readings));
  view.composer.setExamples(app.api.isEmbedded ? [] : examples.slice(0, EXAMPLES_SHOWN));
  const text = app.state.source || app.api.sourceText || examples[0]?.source;
  if (!text) return void clear(view.result);
  view.composer.setText(text);
  const { forced } = app.state;
  translateText(app, view, text, forced?.text === text ? forced.target : null);
}

/** The measure of every head takes the server a while: it is taken over when it comes, unless a reading was chosen by then. */
function takeReadings(app, view, readings) {
  view.readings = readings;
  if (!app.state.reading) view.reading = bestReading(readings) ?? view.reading;
  view.controls.update({ readings, reading: view.reading });
  if (view.alignment && !view.isAsking && !app.state.reading) guarded(view, () => showReading(app, view));
}

/** Translate a text from the beginning: as it grows, then looked into. */
function translateText(app, view, text, target = null) {
  Object.assign(view, { text, target, outputs: [] });
  app.setSource(text);
  view.composer.setNote(null);
  return guarded(view, async (signal) => {
    const growing = h("p", { class: "growing", dir: "auto", "aria-live": "off" });
    clear(view.result, h("section", { class: "card" }, h("p", { class: "growing-source", dir: "auto" }, text), growing));
    for await (const { text: sofar } of app.api.stream({ model: app.model().name, text }, { signal })) {
      clear(growing, sofar, h("span", { class: "caret", "aria-hidden": "true" }));
    }
    await lookInto(app, view, signal);
    app.say(app.state.trace.text);
  });
}

/** The pair's trace, its alignment, and the other outputs. */
async function lookInto(app, view, signal) {
  const model = app.model();
  const trace = await askTrace(app, traceRequest(view), async (found) => found, { signal });
  app.state.forced = traceRequest(view);
  view.composer.setNote(unlearnedNote(trace, view.text));
  view.cross = trace.layers.filter((layer) => layer.use === "cross");
  view.alignment = view.cross.length ? await askAlignment(app, view, signal) : null;
  showResult(app, view, trace);
  if (app.api.isEmbedded || view.outputs.length) return;
  const { translations } = await app.api.translate({ model: model.name, texts: [view.text], nbest: OUTPUTS, beam: OUTPUTS }, { signal });
  view.outputs = translations[0];
  fillOutputs(app, view, trace);
}

/** Which words the model has never seen, where there are any: what it says of them is a guess. */
function unlearnedNote(trace, text) {
  const words = [...new Set(unlearnedWords(trace.source, text))];
  if (!words.length) return null;
  const named = words.slice(0, MOST_UNLEARNED).map((word) => t("translate.quoted", { word }));
  return t(words.length > MOST_UNLEARNED ? "translate.unlearned_more" : "translate.unlearned", { words: named.join(", "), count: words.length });
}

function askAlignment(app, view, signal) {
  return askTrace(app, traceRequest(view), (trace) => app.api.alignment(trace.id, view.reading, { signal }), { signal });
}

function traceRequest({ text, target }) {
  return { text, target };
}

/** Run what asks the server; a newer question abandons an older one, and a problem is shown in words. */
async function guarded(view, ask) {
  view.asking.abort();
  view.asking = new AbortController();
  const { signal } = view.asking;
  setAsking(view, true);
  try {
    await ask(signal);
  } catch (problem) {
    if (!isAbandoned(problem) && !signal.aborted) clear(view.result, h("section", { class: "card" }, problemNote(problem)));
  } finally {
    if (!signal.aborted) setAsking(view, false);
  }
}

function setAsking(view, isAsking) {
  view.isAsking = isAsking;
  view.composer.setBusy(isAsking);
}

async function showReading(app, view) {
  view.alignment = await askAlignment(app, view, view.asking.signal);
  view.words.update({ weights: view.alignment.weights, links: drawnLinks(view.alignment) });
  drawAlignment(view);
}

/** The example that this text is, where it is one. */
function exampleOf(view) {
  return view.examples.find((example) => example.source === view.text) ?? null;
}

/** Gold links hold for the reference alone, not for another translation. */
function goldLinks(view, trace) {
  const example = exampleOf(view);
  return example?.links && example.target === trace.text ? example.links : null;
}

function showResult(app, view, trace) {
  view.stops.forEach((stop) => stop());
  view.stops = [];
  view.gold = goldLinks(view, trace);
  view.detail = h("div", { class: "detail-place" });
  const pinned = pinnedWord(app);
  view.words = wordRows({
    source: realWords(trace.source).map((word) => word.spelled),
    target: realWords(trace.target).map((word) => word.spelled),
    weights: view.alignment?.weights ?? null,
    links: view.alignment && drawnLinks(view.alignment),
    gold: view.gold,
    pinned,
    onWord: (side, index) => showWord(app, view, trace, side, index),
    onPin: (side, index) => (app.state.pinned = { of: app.state.traceKey, side, index }),
  });
  view.outputsPlace = h("div");
  view.stops.push(view.words.stop);
  const saving = savingButtons(() => view.words.toSvg(), `${view.text} words`);
  clear(
    view.result,
    card(
      t("translate.words"),
      { beside: saving },
      !trace.layers.length && nothingToSee(app),
      view.words.node,
      referenceSwitch(app, view, trace),
      view.alignment && view.detail,
    ),
    view.alignment && alignmentCard(view),
    !app.api.isEmbedded && outputsCard(view),
  );
  showWord(app, view, trace, pinned?.side ?? null, pinned?.index ?? null);
  if (view.alignment) startAlignment(view);
  fillOutputs(app, view, trace);
}

/** The word that the reader holds, where it is one of this trace. */
function pinnedWord({ state }) {
  const { of, side, index } = state.pinned ?? {};
  return of === state.traceKey && index !== null ? { side, index } : null;
}

/** A model without attention says so. */
function nothingToSee(app) {
  return h("p", { class: "explain nothing" }, t("translate.nothing", { kind: app.model().kind }));
}

function referenceSwitch(app, view, trace) {
  const example = exampleOf(view);
  if (!example?.target || app.api.isEmbedded) return null;
  const force = (event) => forceTarget(app, view, event.target.checked ? example.target : null);
  const isForced = view.target !== null && view.target === example.target;
  return h(
    "div",
    { class: "reference" },
    h("label", { class: "check" }, h("input", { type: "checkbox", checked: isForced, onchange: force }), t("translate.force")),
    h(
      "span",
      { class: "faint small" },
      view.gold ? t("translate.gold_shown") : trace.text === example.target ? "" : t("translate.reference", { text: example.target }),
    ),
  );
}

function forceTarget(app, view, target) {
  view.target = target;
  guarded(view, (signal) => lookInto(app, view, signal));
}

function alignmentCard(view) {
  view.mapPlace = h("div", { class: "map-place" });
  view.controls.update({ layers: view.cross.length, heads: view.cross[0].heads, readings: view.readings, reading: view.reading });
  const legend = h(
    "p",
    { class: "faint small" },
    t("translate.map_legend"),
    view.gold && [" ", h("span", { class: "gold-key" }, t("translate.gold_key"))],
  );
  return card(t("translate.alignment"), {}, h("div", { class: "stack" }, view.controls.node, view.mapPlace, legend, howToRead()));
}

function howToRead() {
  return h(
    "details",
    { class: "explain" },
    h("summary", null, t("translate.how")),
    h("p", null, t("translate.how_rows")),
    h("p", null, t("translate.how_when")),
    h("p", null, t("translate.how_rest")),
  );
}

function startAlignment(view) {
  view.stops.push(whenWidthChanges(view.mapPlace, () => drawAlignment(view)));
}

function drawAlignment(view) {
  const { source_words: columns, target_words: rows, weights } = view.alignment;
  view.map?.stop();
  view.map = heatmap({
    weights: Float32Array.from(weights.flat()),
    rows,
    columns,
    links: drawnLinks(view.alignment),
    gold: view.gold,
    title: `${view.text} ${t("translate.alignment")}`,
    width: Math.min(WIDEST_MAP, view.mapPlace.clientWidth),
    onCell: (row) => view.words.activate("target", row),
    onLeave: () => view.words.activate(null),
  });
  view.stops.push(view.map.stop);
  clear(view.mapPlace, view.map.node);
}

function showWord(app, view, trace, side, index) {
  const told = { trace, alignment: view.alignment, side, index, onInside: (word) => goInside(app, view, trace, word) };
  if (side !== null || !view.detail.hasChildNodes()) clear(view.detail, wordDetail(told)); // the last word's stays readable
  if (side === null || !view.alignment) return;
  if (document.activeElement?.classList.contains("word")) app.say(spokenDetail(told));
}

/** The attention that is read just now, at the word's first piece: the row before says it, its own row has read it. */
function goInside(app, view, trace, word) {
  const { layer, head, when } = view.reading;
  const piece = realWords(trace.target)[word].pieces[0];
  const cross = layer === "mean" ? view.cross.at(-1) : view.cross[layer];
  app.state.inside = {
    isExample: false,
    layer: trace.layers.indexOf(cross),
    head: head === "mean" ? 0 : head,
    query: when === "read" ? piece : piece - 1,
  };
  app.go("inside");
}

function outputsCard(view) {
  return card(
    t("translate.outputs"),
    {},
    h("div", { class: "stack" }, h("p", { class: "faint small" }, t("translate.outputs_note")), view.outputsPlace),
  );
}

function fillOutputs(app, view, trace) {
  clear(
    view.outputsPlace,
    view.outputs.length
      ? outputList(view.outputs, trace.text, (output) => forceTarget(app, view, output === view.outputs[0] ? null : output.text))
      : null,
  );
}
