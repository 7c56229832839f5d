/** The attention timeline: the probe sentences' maps at the steps where they were saved, one flowing into the next. */

import { clear, h } from "./make.js";
import { heatmap } from "./heatmap.js";
import { mapStore } from "./map_store.js";
import { card, dropDown, emptyNote, isAbandoned, problemNote } from "./notes.js";
import { nearestIndex } from "./scales.js";
import { betweenMaps } from "./shrinking.js";
import { t } from "./text.js";
import { focusPlot } from "./training_focus.js";
import { spelledPieces } from "./wording.js";

const FLOW = 320; // milliseconds from one map to the next
const PAUSE = 800; // milliseconds that a playing timeline rests at a step

/** The timeline of a run; `show(steps, isLive)` tells it of the steps there are. Returns {node, show, stop()}. */
export function timeline(app, run) {
  const line = {
    app, run, steps: [], at: 0, follows: true, layers: [], labels: [], probe: 0, layer: null, head: "mean", isPlaying: false, leaving: new AbortController(),
    choices: h("div", { class: "controls" }), place: h("div", { class: "timeline-map" }), told: h("output", { class: "timeline-step" }),
  };
  line.store = mapStore((name) => fetchProbe(line, name));
  line.slider = h("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": t("timeline.slider"), oninput: () => pull(line) });
  line.play = h("button", { type: "button", class: "primary play", onclick: () => togglePlaying(line) }, t("timeline.play"));
  const ruler = h("div", { class: "timeline-ruler" }, line.play, line.slider, line.told);
  line.focus = focusPlot((step) => goToStep(line, step));
  line.body = h("div", { class: "stack", hidden: true }, line.choices, ruler, h("div", { class: "timeline-pictures" }, line.place, line.focus.node));
  line.empty = emptyNote(t("timeline.none"));
  const node = card(t("timeline.title"), { explanation: t("timeline.hint") }, line.body, line.empty);
  return { node, show: (steps) => takeSteps(line, steps), stop: () => stopTimeline(line) };
}

function stopTimeline(line) {
  line.isPlaying = false;
  line.leaving.abort();
  cancelAnimationFrame(line.frame);
  clearTimeout(line.timer);
  line.map?.stop?.();
  line.focus.stop();
}

/** Take over the steps at which maps were saved; a timeline that stood at the end goes on with it. */
async function takeSteps(line, steps) {
  if (!steps.length || (steps.length === line.steps.length && steps.at(-1) === line.steps.at(-1))) return;
  const wasAtEnd = line.follows || line.at >= line.steps.length - 1;
  line.steps = steps;
  line.slider.max = steps.length - 1;
  if (wasAtEnd || line.at >= steps.length) line.at = steps.length - 1;
  line.slider.value = line.at;
  try {
    if (!line.layers.length) await learnProbes(line);
    line.empty.hidden = true;
    line.body.hidden = false;
    await showMap(line);
    showFocus(line);
  } catch (problem) {
    tellProblem(line, problem);
  }
}

function tellProblem(line, problem) {
  if (isAbandoned(problem)) return;
  line.mapKey = null;
  clear(line.place, problemNote(problem));
}

async function learnProbes(line) {
  const { labels, layers } = await line.app.api.probes(line.run, line.steps[line.at], { signal: line.leaving.signal });
  Object.assign(line, { labels, layers });
  line.labelsStep = line.steps[line.at];
  if (!layers.length) throw new Error(t("timeline.noAttention"));
  const cross = layers.map((layer, index) => ({ ...layer, index })).filter((layer) => layer.use === "cross");
  line.layer = (cross.at(-1) ?? { index: layers.length - 1 }).index;
  showChoices(line);
}

function showChoices(line) {
  const choose = (name) => (value) => {
    line[name] = name === "head" && value === "mean" ? value : Number(value);
    if (name === "layer") line.head = "mean";
    showChoices(line);
    showMap(line).then(() => showFocus(line), (problem) => tellProblem(line, problem));
  };
  const probes = line.labels.map((label, index) => [index, sentenceOf(label.source)]);
  const layers = line.layers.map((layer, index) => [index, `${t(`heads.${layer.use}`)}, ${t("heads.layer", { layer: layer.layer + 1 })}`]);
  const heads = [["mean", t("heads.meanOfHeads")], ...Array.from({ length: line.layers[line.layer].heads }, (_, head) => [head, t("heads.head", { head: head + 1 })])];
  const focused = [...line.choices.querySelectorAll("select")].indexOf(document.activeElement);
  clear(line.choices, dropDown(t("timeline.probe"), probes, line.probe, choose("probe")), dropDown(t("timeline.layer"), layers, line.layer, choose("layer")),
    heads.length > 2 && dropDown(t("timeline.head"), heads, line.head, choose("head")));
  line.choices.querySelectorAll("select")[focused]?.focus();
}

function sentenceOf(pieces) {
  const text = spelledPieces(pieces.filter((piece) => piece !== "</s>"));
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

async function fetchProbe(line, name) {
  const [step, probe, layer, head] = name.split("/");
  return line.app.api.probeWeights(line.run, { step, probe, layer, head }, { signal: line.leaving.signal });
}

/** Show the map of the step where the slider stands; the old map flows into it where both have one shape. */
async function showMap(line) {
  const step = line.steps[line.at];
  const wanted = `${step}/${line.probe}/${line.layer}/${line.head}`;
  line.wanted = wanted;
  tellStep(line, step);
  const [map, labels] = await Promise.all([line.store.get(wanted), labelsAt(line, step)]);
  if (line.wanted !== wanted || line.leaving.signal.aborted) return;
  const { use } = line.layers[line.layer];
  const key = JSON.stringify([use, labels[line.probe]]);
  if (line.map && line.mapKey === key) flowTo(line, map.weights);
  else buildMap(line, { map, labels: labels[line.probe], use, key });
}

/** The whole course of the chosen map's focus, behind the map itself. */
function showFocus(line) {
  const { probe, layer, head } = line;
  line.focus.show({ steps: line.steps, load: (step) => line.store.get(`${step}/${probe}/${layer}/${head}`) });
}

function tellStep(line, step) {
  const words = t("timeline.step", { step: step.toLocaleString("en") });
  line.focus.mark(step);
  line.told.textContent = words;
  line.slider.setAttribute("aria-valuetext", words);
}

/** The labels of a step: those of probes given without a reference change as the model learns to say other things. */
async function labelsAt(line, step) {
  line.labelsByStep ??= new Map([[line.labelsStep, line.labels]]);
  if (!line.labelsByStep.has(step)) line.labelsByStep.set(step, (await line.app.api.probes(line.run, step, { signal: line.leaving.signal })).labels);
  return line.labelsByStep.get(step);
}

function buildMap(line, { map, labels, use, key }) {
  cancelAnimationFrame(line.frame);
  line.map?.stop?.();
  line.mapKey = key;
  line.shown = map.weights;
  line.map = heatmap({
    weights: map.weights, title: t("timeline.mapTitle", { run: line.run, step: line.steps[line.at] }),
    rows: use === "encoder-self" ? labels.source : labels.target, columns: use === "decoder-self" ? labels.target : labels.source,
    hidden: use === "decoder-self" ? (row, column) => column > row : undefined,
    width: Math.max(260, Math.min(640, (line.place.clientWidth || 560) - 4)),
  });
  clear(line.place, line.map.node);
}

function flowTo(line, weights) {
  cancelAnimationFrame(line.frame);
  const from = line.shown;
  const begun = performance.now();
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const advance = (now) => {
    const share = isStill ? 1 : Math.min(1, Math.max(0, (now - begun) / FLOW));
    line.shown = betweenMaps(from, weights, share * (2 - share));
    line.map.update(line.shown);
    if (share < 1) line.frame = requestAnimationFrame(advance);
  };
  line.frame = requestAnimationFrame(advance);
}

function goToStep(line, step) {
  line.slider.value = nearestIndex(line.steps, step);
  pull(line);
}

/** The reader moved the slider. */
function pull(line) {
  line.at = Number(line.slider.value);
  line.follows = line.at === line.steps.length - 1;
  showMap(line).catch((problem) => tellProblem(line, problem));
}

function togglePlaying(line) {
  line.isPlaying = !line.isPlaying;
  clear(line.play, t(line.isPlaying ? "timeline.pause" : "timeline.play"));
  clearTimeout(line.timer);
  if (!line.isPlaying) return;
  if (line.at >= line.steps.length - 1) line.at = -1;
  playOn(line);
}

function playOn(line) {
  if (!line.isPlaying) return;
  if (line.at >= line.steps.length - 1) return void togglePlaying(line);
  line.slider.value = line.at + 1;
  pull(line);
  line.timer = setTimeout(() => playOn(line), PAUSE);
}
