/** The attention timeline: the maps of the probes, sentences or pictures, at the steps where they were saved, one flowing into the next. */

import { clear, h } from "./make.js";
import { heatmap } from "./heatmap.js";
import { looksAtPictures } from "./journal.js";
import { mapStore } from "./map_store.js";
import { card, dropDown, emptyNote, isAbandoned, problemNote } from "./notes.js";
import { readablePiece, signsNote } from "./pieces.js";
import { nearestIndex } from "./scales.js";
import { betweenMaps } from "./shrinking.js";
import { t } from "./text.js";
import { focusPlot } from "./training_focus.js";
import { regionStrip } from "./training_regions.js";
import { spelledPieces } from "./wording.js";

const FLOW = 320; // milliseconds from one map to the next
const PAUSE = 800; // milliseconds that a playing timeline rests at a step
const LONGEST_NAME = 60; // letters of a probe in the list

/** The timeline of a run (its record); `show(steps, {held, isOver})` tells it of the steps there are, and of those that an axis holds. Returns {node, show, stop()}. */
export function timeline(app, run) {
  const isOfPictures = looksAtPictures(run);
  const line = {
    app, run: run.name, isOfPictures, steps: [], at: 0, follows: true, layers: [], saved: new Map(), names: [], pictures: new Map(),
    probe: 0, layer: null, head: "mean", isPlaying: false, leaving: new AbortController(),
    choices: h("div", { class: "controls" }), place: h("div", { class: "timeline-map" }), told: h("output", { class: "timeline-step" }),
  };
  line.store = mapStore((name) => fetchProbe(line, name));
  line.slider = h("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": t("timeline.slider"), oninput: () => pull(line) });
  line.play = h("button", { type: "button", class: "primary play", onclick: () => togglePlaying(line) }, t("timeline.play"));
  const ruler = h("div", { class: "timeline-ruler" }, line.play, line.slider, line.told);
  line.focus = focusPlot((step) => goToStep(line, step), { isOfPictures });
  const maps = h("div", { class: isOfPictures ? "stack" : "timeline-pictures" }, line.place, line.focus.node);
  line.body = h("div", { class: "stack", hidden: true }, line.choices, ruler, maps);
  line.empty = emptyNote(t("timeline.none"));
  const node = card(t("timeline.title"), { explanation: t(isOfPictures ? "timeline.hintPictures" : "timeline.hint") }, line.body, line.empty);
  return { node, show: (steps, known) => takeSteps(line, steps, known), stop: () => stopTimeline(line) };
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
async function takeSteps(line, steps, { held, isOver }) {
  line.focus.hold(held);
  if (!steps.length && isOver) clear(line.empty, t("timeline.noneSaved"));
  if (!steps.length || (steps.length === line.steps.length && steps.at(-1) === line.steps.at(-1))) return;
  const wasAtEnd = line.follows || line.at >= line.steps.length - 1;
  line.steps = steps;
  line.slider.max = steps.length - 1;
  if (wasAtEnd || line.at >= steps.length) line.at = steps.length - 1;
  line.slider.value = line.at;
  try {
    if (!line.layers.length) await learnProbes(line);
    if (!line.layers.length) return void clear(line.empty, t("timeline.noAttention"));
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
  clear(line.body.hidden ? line.empty : line.place, problemNote(problem));
}

async function learnProbes(line) {
  const { labels, layers } = await probesAt(line, line.steps[line.at]);
  if (line.isOfPictures) line.names = (await line.app.api.runPictures(line.run, { signal: line.leaving.signal })).pictures;
  Object.assign(line, { labels, layers });
  if (!layers.length) return;
  const looking = layers.map((layer) => ["cross", "picture"].includes(layer.use)).lastIndexOf(true);
  line.layer = looking < 0 ? layers.length - 1 : looking;
  showChoices(line);
}

function showChoices(line) {
  const choose = (name) => (value) => {
    line[name] = name === "head" && value === "mean" ? value : Number(value);
    if (name === "layer") line.head = "mean";
    showChoices(line);
    showMap(line).then(() => showFocus(line), (problem) => tellProblem(line, problem));
  };
  const probes = line.labels.map((label, index) => [index, line.isOfPictures ? pictureName(line, index) : sentenceOf(label.source.length ? label.source : label.target)]);
  const layers = line.layers.map((layer, index) => [index, `${t(`heads.${layer.use}`)}, ${t("heads.layer", { layer: layer.layer + 1 })}`]);
  const heads = [["mean", t("heads.meanOfHeads")], ...Array.from({ length: line.layers[line.layer].heads }, (_, head) => [head, t("heads.head", { head: head + 1 })])];
  const focused = [...line.choices.querySelectorAll("select")].indexOf(document.activeElement);
  clear(line.choices, dropDown(t(line.isOfPictures ? "timeline.probePictures" : "timeline.probe"), probes, line.probe, choose("probe")), dropDown(t("timeline.layer"), layers, line.layer, choose("layer")),
    heads.length > 2 && dropDown(t("timeline.head"), heads, line.head, choose("head")));
  line.choices.querySelectorAll("select")[focused]?.focus();
}

function sentenceOf(pieces) {
  const letters = [...spelledPieces(pieces.filter((piece) => piece !== "<s>" && piece !== "</s>"))];
  return letters.length > LONGEST_NAME ? `${letters.slice(0, LONGEST_NAME - 3).join("")}…` : letters.join("");
}

/** A picture's file, where its name is known, and what is said of it. */
function pictureName({ labels, names }, probe) {
  const { picture, target } = labels[probe];
  return [picture || names[probe], sentenceOf(target)].filter(Boolean).join(": ");
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
  const { probe } = line;
  const { use } = line.layers[line.layer];
  const [map, { labels, targets }, picture] = await Promise.all([line.store.get(wanted), probesAt(line, step), use === "picture" ? pictureOf(line, probe) : null]);
  if (line.wanted !== wanted || line.leaving.signal.aborted) return;
  const key = JSON.stringify([use, probe, labels[probe]]);
  if (line.map && line.mapKey === key) flowTo(line, map.weights);
  else buildMap(line, { map, labels: labels[probe], target: targets[probe], picture, use, key });
}

/** A probe's picture as an address that holds it; null where the file is gone, or where another has taken its place. */
function pictureOf(line, probe) {
  const { picture } = line.labels[probe];
  const isThere = line.names[probe] && (!picture || picture === line.names[probe]);
  if (isThere && !line.pictures.has(probe)) line.pictures.set(probe, line.app.api.probePicture(line.run, probe, { signal: line.leaving.signal }).catch(() => null));
  return line.pictures.get(probe) ?? null;
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

/** What was saved at a step: the labels of probes given without a reference change as the model learns to say other things. */
async function probesAt(line, step) {
  if (!line.saved.has(step)) line.saved.set(step, await line.app.api.probes(line.run, step, { signal: line.leaving.signal }));
  return line.saved.get(step);
}

function buildMap(line, built) {
  cancelAnimationFrame(line.frame);
  line.map?.stop?.();
  line.mapKey = built.key;
  line.shown = built.map.weights;
  line.map = built.use === "picture" ? pictureStrip(line, built) : pieceMap(line, built);
  clear(line.place, line.map.node, built.use !== "picture" && signsNote([...built.labels.source, ...built.labels.target]));
}

function pictureStrip(line, { map, target, picture }) {
  return regionStrip({ weights: map.weights, target, picture, name: pictureName(line, line.probe), title: mapTitle(line) });
}

function mapTitle(line) {
  return t("timeline.mapTitle", { run: line.run, step: line.steps[line.at] });
}

function pieceMap(line, { map, labels, use }) {
  return heatmap({
    weights: map.weights, title: mapTitle(line),
    rows: (["encoder-self", "picture-self"].includes(use) ? labels.source : labels.target).map(readablePiece),
    columns: (use === "decoder-self" ? labels.target : labels.source).map(readablePiece),
    hidden: use === "decoder-self" ? (row, column) => column > row : undefined,
    width: Math.max(260, Math.min(640, (line.place.clientWidth || 560) - 4)),
  });
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
