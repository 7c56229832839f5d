/** Positions: how a model is told where a token stands, as a map, as curves, as distances; and the four wishes, measured live. */

import { clear, h } from "./make.js";
import { onTheme } from "./colour.js";
import { countEncoding, distanceTable, distancesByOffset, encodingFromRows, fractionEncoding, measureWishes, randomEncoding, sinusoidalEncoding } from "./encodings.js";
import { field, fieldLegend } from "./field.js";
import { lines } from "./lines.js";
import { card, dropDown, isAbandoned, lead, problemNote, slider } from "./notes.js";
import { rotaryDemonstration } from "./rotary.js";
import { savingButtons } from "./saving.js";
import { rangeOf, readableNumber } from "./scales.js";
import { takesWords } from "./takers.js";
import { t } from "./text.js";
import { wishCards } from "./wish_cards.js";

const MADE_HERE = { sinusoidal: sinusoidalEncoding, count: countEncoding, fraction: fractionEncoding, random: randomEncoding };
const OWN = "own";
const CURVES = 4;
const LONGEST_SHOWN = 200;
const BEYOND = 60; // so many rows that were never trained can be seen
const WAVY = ["interleaved", "halves"];

export const positionsView = { id: "positions", title: "positions.title", mount: mountPositions };

function mountPositions(root, app) {
  const view = { app, kind: "sinusoidal", length: 60, width: 64, own: null, encoding: null, leaving: new AbortController() };
  view.wishes = wishCards();
  view.pictures = makePictures(view);
  view.story = h("div", { class: "explain" });
  view.note = h("div");
  view.widthSlider = slider(t("positions.width"), { least: 4, most: 256, step: 4, value: view.width }, (width) => change(view, { width }));
  view.lengthSlider = slider(t("positions.length"), { least: 4, most: LONGEST_SHOWN, value: view.length }, (length) => change(view, { length }));
  view.kindPlace = h("div");
  const controls = h("div", { class: "controls" }, view.kindPlace, view.lengthSlider.node, view.widthSlider.node);
  root.append(h("div", { class: "view" }, lead(t("positions.heading"), t("positions.lead")),
    h("div", { class: "card stack" }, controls, view.story, view.note),
    card(t("positions.wishes"), { explanation: t("positions.wishesHint") }, view.wishes.node),
    pictureCards(view), explanations()));
  const stops = [app.onModel(() => learnOwn(view)), onTheme(() => showLegends(view))];
  change(view, {});
  learnOwn(view);
  return () => {
    view.leaving.abort();
    stops.forEach((stop) => stop());
    Object.values(view.pictures).forEach((picture) => picture.stop());
  };
}

/** Ask whether the chosen model has an encoding of its own, and offer it. */
async function learnOwn(view) {
  const model = view.app.model();
  view.own = null;
  if (takesWords(model)) { // a captioner is not asked: the server would refuse
    const answer = await view.app.api.positions(model.name, 4, { signal: view.leaving.signal }).catch((problem) => problem);
    if (isAbandoned(answer) || view.app.model()?.name !== model.name) return; // another was chosen, and asked of, meanwhile
    if (answer.values) view.own = { ...answer, model: model.name };
  }
  if (view.kind === OWN && !view.own) view.kind = "sinusoidal";
  offerKinds(view);
  change(view, {});
}

function offerKinds(view) {
  const kinds = Object.keys(MADE_HERE).map((kind) => [kind, t(`positions.${kind}`)]);
  if (view.own) kinds.splice(1, 0, [OWN, t("positions.own", { model: view.own.model, kind: t(`positions.kind.${view.own.kind}`) })]);
  clear(view.kindPlace, dropDown(t("positions.kind"), kinds, view.kind, (kind) => change(view, { kind })));
}

/** Take over what was changed, and draw anew in the next frame. */
function change(view, changed) {
  Object.assign(view, changed);
  if (!view.kindPlace.firstChild) offerKinds(view);
  cancelAnimationFrame(view.frame);
  view.frame = requestAnimationFrame(() => redraw(view));
}

/** A learned table is shown some way beyond where its training ended. */
function fitLength(view) {
  const { input, number } = view.lengthSlider;
  const trained = trainedOf(view);
  const most = trained === null ? LONGEST_SHOWN : Math.max(LONGEST_SHOWN, Math.min(view.own.longest, trained + BEYOND, 2 * LONGEST_SHOWN));
  input.max = String(most);
  view.length = Math.min(view.length, most);
  number.textContent = view.length;
}

async function redraw(view) {
  const isOwn = view.kind === OWN;
  fitLength(view);
  view.widthSlider.input.disabled = isOwn;
  view.widthSlider.number.textContent = isOwn ? view.own.width : view.width;
  clear(view.story, storyOf(view));
  clear(view.mapWhy, t(`positions.mapWhy.${shapeOf(view)}`));
  clear(view.curvesWhy, t(`positions.curvesWhy.${WAVY.includes(shapeOf(view)) ? "waves" : "other"}`));
  clear(view.note);
  try {
    const { kind, width } = view; // a choice made while this is drawn is drawn next
    const make = isOwn ? await ownMaker(view) : (length) => MADE_HERE[kind](length, width);
    showEncoding(view, make);
  } catch (problem) {
    if (!isAbandoned(problem)) clear(view.note, problemNote(problem));
  }
}

function storyOf({ kind, own }) {
  if (kind !== OWN) return t(`positions.story.${kind}`);
  const counts = { width: own.width, longest: own.longest?.toLocaleString("en"), trained: own.trained?.toLocaleString("en") };
  const isReached = own.kind === "learned" && own.trained >= own.longest;
  return t(isReached ? "positions.story.learned_whole" : `positions.story.${own.kind}`, counts);
}

/** How many positions of the encoding training can have reached; null where nothing had to be trained. */
function trainedOf({ kind, own }) {
  return kind === OWN ? own.trained ?? null : null;
}

/** What the map looks like: how sines and cosines lie, or the kind of an encoding that has none. */
function shapeOf({ kind, own }) {
  if (kind !== OWN) return kind === "sinusoidal" ? "interleaved" : kind;
  return own.kind === "learned" ? own.kind : own.layout;
}

/** The model's own encoding as a function of the length: fetched for the lengths that the wishes need, null where it ends sooner. */
async function ownMaker(view) {
  const { own, length } = view;
  const again = await ownRows(view, length);
  const fetched = new Map();
  const longer = [length * 2, length * 10].filter((wanted, index) => index === 0 || wanted <= (own.trained ?? wanted)); // beyond, nothing is measured
  for (const wanted of [length, ...longer]) fetched.set(wanted, wanted === length ? again : await ownRows(view, wanted).catch(() => null));
  if (view.own !== own || view.length !== length) throw new DOMException("another one was chosen", "AbortError");
  const second = await ownRows(view, length);
  let calls = 0;
  return (wanted) => (wanted === length && calls++ > 0 ? second : fetched.get(wanted));
}

async function ownRows(view, length) {
  const { values } = await view.app.api.positions(view.own.model, length, { signal: view.leaving.signal });
  const encoding = encodingFromRows(values);
  return encoding.length === length ? encoding : null;
}

function showEncoding(view, make) {
  const made = make(view.length);
  if (view.kind === OWN && view.own.kind === "sinusoidal" && made) view.story.append(` ${agreement(view.own, made)}`);
  if (!made) return void clear(view.note, h("p", { class: "problem" }, t("positions.tooLong", { length: view.length })));
  const table = distanceTable(made);
  view.encoding = made;
  const [low, high] = rangeOf(made.values);
  const most = Math.max(-low, high) || 1;
  view.strengths = { map: { twoSided: low < 0, most }, distance: { twoSided: false, most: rangeOf(table)[1] || 1 } };
  const { map, curves, distance, offsets } = view.pictures;
  const trained = trainedOf(view);
  map.update({ values: made.values, rows: made.length, columns: made.width, shadedFrom: trained, shadedLabel: t("positions.untrained"), ...view.strengths.map });
  curves.update({ series: curvesOf(made) });
  distance.update({ values: table, rows: made.length, columns: made.length, ...view.strengths.distance });
  offsets.update({ series: offsetSeries(table, made.length) });
  showLegends(view);
  clearTimeout(view.measuring);
  view.measuring = setTimeout(() => view.wishes.show(measureWishes(make, made, table, trained)), 60);
}

/** How far the model's numbers are from the formula as computed here, in float64. */
function agreement(own, made) {
  const formula = sinusoidalEncoding(made.length, made.width).values;
  const ordered = own.layout === "halves" ? halvesOf(formula, made.width) : formula;
  const difference = made.values.reduce((most, value, index) => Math.max(most, Math.abs(value - ordered[index])), 0);
  return t("positions.agrees", { difference: readableNumber(difference) });
}

/** The same numbers with all sines first. */
function halvesOf(values, width) {
  const sines = Math.ceil(width / 2);
  return values.map((_, index) => {
    const at = index % width;
    return values[index - at + (at < sines ? 2 * at : 2 * (at - sines) + 1)];
  });
}

function showLegends(view) {
  if (!view.strengths) return;
  clear(view.mapLegend, fieldLegend(view.strengths.map));
  clear(view.distanceLegend, fieldLegend(view.strengths.distance));
}

/** A few dimensions from fast to slow, as curves over the positions. */
function curvesOf({ length, width, values }) {
  const chosen = [...new Set([0, 1, Math.floor(width / 4), Math.floor(width / 2)])].filter((i) => i < width).slice(0, CURVES);
  return chosen.map((i) => ({
    name: t("positions.dimension", { dimension: i }),
    points: Array.from({ length }, (_, position) => [position, values[position * width + i]]),
  }));
}

function offsetSeries(table, length) {
  const offsets = distancesByOffset(table, length).filter(({ offset }) => offset < Math.max(2, length * 0.75));
  return [{
    name: t("positions.distanceName"),
    points: offsets.map(({ offset, mean }) => [offset, mean]),
    band: offsets.map(({ offset, low, high }) => [offset, low, high]),
  }];
}

function makePictures(view) {
  const empty = { values: new Float64Array(0), rows: 0, columns: 0, most: 1 };
  const tellValue = (position, dimension, value) => {
    const told = t("positions.cell", { position, dimension, value: value?.toFixed(4) });
    return position >= (trainedOf(view) ?? Infinity) ? `${told} (${t("positions.untrained")})` : told;
  };
  const tellDistance = (one, other, value) => t("positions.distanceCell", { one, other, value: readableNumber(value) });
  return {
    map: field({ ...empty, title: t("positions.map"), xLabel: t("positions.dimensionAxis"), yLabel: t("positions.position"), tell: tellValue, hint: t("positions.mapHint") }),
    curves: lines({ title: t("positions.curves"), series: [], xLabel: t("positions.position"), yLabel: t("positions.value") }),
    distance: field({ ...empty, isSquare: true, height: 300, title: t("positions.distances"), xLabel: t("positions.position"), yLabel: t("positions.position"), tell: tellDistance, hint: t("positions.distancesHint") }),
    offsets: lines({ title: t("positions.offsets"), series: [], xLabel: t("positions.offset"), yLabel: t("positions.distanceName") }),
  };
}

function pictureCards(view) {
  const { map, curves, distance, offsets } = view.pictures;
  view.mapLegend = h("span");
  view.distanceLegend = h("span");
  view.mapWhy = h("span");
  view.curvesWhy = h("span");
  const part = (key, picture, explanation, legend) =>
    card(t(`positions.${key}`), { explanation, beside: legend }, picture.node, savingButtons(picture.toSvg, t(`positions.${key}`)));
  return h("div", { class: "pairs" }, part("map", map, view.mapWhy, view.mapLegend), part("curves", curves, view.curvesWhy),
    part("distances", distance, t("positions.distancesWhy"), view.distanceLegend), part("offsets", offsets, t("positions.offsetsWhy")));
}

function explanations() {
  const told = ["sinusoidal", "learned", "rotary", "none"].map((kind) =>
    h("div", null, h("h3", null, t(`positions.kind.${kind}`)), h("p", { class: "faint" }, t(`positions.about.${kind}`)), kind === "rotary" && rotaryDemonstration()));
  return card(t("positions.ways"), {}, h("div", { class: "ways" }, told));
}
