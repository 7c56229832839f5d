/** Language: a model goes on with a beginning, or fills the blanks of a text; and how the words of the text look at each other. */

import { shade } from "./colour.js";
import { largeHead } from "./head_large.js";
import { clear, h } from "./make.js";
import { card, dropDown, emptyNote, isAbandoned, lead, problemNote, slider, waitingNote } from "./notes.js";
import { sentenceBar } from "./sentence_bar.js";
import { t } from "./text.js";
import { askTrace } from "./tracing.js";

const DRAWN = 5; // continuations drawn at random, below the likeliest one
const HOTTEST = 20; // tenths of the temperature
const WIDEST_LOOK = 620;
const BLANK = /_{2,}|<mask>/;
const COMMANDS =
  "regard data world sentences --out runs/world/data\nregard train recipes/world-decoder-only.toml\nregard train recipes/world-encoder-only.toml";

export const languageView = { id: "language", title: "language.title", takes: ["beginning", "blanks"], mount: mountLanguage };

function mountLanguage(root, app) {
  const view = {
    app, asking: new AbortController(), temperature: 10, layer: null, map: null,
    said: h("div", { class: "stack" }), looked: h("div"),
  };
  const place = h("div", { class: "view language" });
  root.append(place);
  const begin = () => beginWith(view, place);
  const stopModel = app.onModel(begin);
  begin();
  return () => {
    view.asking.abort();
    view.map?.stop();
    stopModel();
  };
}

/** What suits the chosen model: it goes on, it fills, or it is of another kind. */
function beginWith(view, place) {
  const { app } = view;
  const model = app.model();
  view.asking.abort();
  clear(view.said);
  clear(view.looked);
  if (!languageView.takes.includes(model?.takes)) {
    const how = h("pre", { class: "command" }, COMMANDS);
    return void clear(place, lead(t("language.heading"), t("language.lead")), emptyNote(h("p", null, t("language.none")), how));
  }
  const { begun } = app.state;
  if (begun && begun.looked === app.state.source) app.state.source = begun.text; // whoever comes back finds the beginning, not all that followed
  const key = model.takes;
  const bar = sentenceBar(app, (text) => answer(view, text));
  clear(place, lead(t(`language.heading_${key}`), t(`language.lead_${key}`)), bar.node, view.said, view.looked);
  if (!model.is_ready) clear(view.said, emptyNote(t("note.notReady", { model: model.name })));
}

/** A newer text abandons the older one's questions; a problem is shown in words. */
async function answer(view, text) {
  view.asking.abort();
  Object.assign(view, { asking: new AbortController(), text });
  const { signal } = view.asking;
  const model = view.app.model();
  if (!model.is_ready) return;
  clear(view.said, waitingNote());
  clear(view.looked);
  try {
    if (model.takes === "beginning") await goOn(view, text, signal);
    else await fillBlanks(view, text, signal);
  } catch (problem) {
    if (!isAbandoned(problem)) clear(view.said, problemNote(problem));
  }
}

// --- a beginning, gone on with ---

async function goOn(view, text, signal) {
  const { api } = view.app;
  const model = view.app.model().name;
  const { continuations: [likeliest] } = await api.complete({ model, text, beam: 1 }, { signal });
  const drawn = h("div");
  const draw = async () => {
    const asked = { model, text, sample: true, nbest: DRAWN, temperature: view.temperature / 10 };
    const { continuations } = await api.complete(asked, { signal });
    clear(drawn, continuationList(view, continuations, text, signal));
  };
  const again = h("button", { type: "button", onclick: () => askedFor(view, drawn, draw) }, t("language.draw_again"));
  const heat = slider(t("language.temperature"), { least: 1, most: HOTTEST, value: view.temperature }, (value) => setHeat(view, heat, value));
  setHeat(view, heat, view.temperature);
  heat.input.addEventListener("change", () => askedFor(view, drawn, draw));
  clear(
    view.said,
    card(t("language.likeliest"), {}, continuationList(view, [likeliest], text, signal)),
    card(t("language.drawn"), { explanation: t("language.drawn_hint"), beside: again }, heat.node, drawn),
  );
  view.app.say(likeliest.text);
  await Promise.all([draw(), lookAtText(view, likeliest.text, signal)]);
}

function setHeat(view, heat, value) {
  view.temperature = value;
  heat.number.textContent = (value / 10).toFixed(1);
}

async function askedFor(view, place, ask) {
  try {
    await ask();
  } catch (problem) {
    if (!isAbandoned(problem)) clear(place, problemNote(problem));
  }
}

/** Continuations as a list; a press looks into one of them. */
function continuationList(view, continuations, beginning, signal) {
  const rows = continuations.map((one, rank) => {
    const press = () => askedFor(view, view.looked, () => lookAtText(view, one.text, signal));
    const added = one.text.startsWith(beginning) ? [beginning, h("b", null, one.text.slice(beginning.length))] : one.text;
    const figure = h("span", { class: "number", title: t("translate.score_long", { log_probability: one.log_probability.toFixed(3) }) }, one.score.toFixed(3));
    const text = h("span", { class: "output-text", dir: "auto" }, added, !one.is_ended && " …");
    const place = h("span", { class: "output-rank", "aria-hidden": "true" }, rank + 1);
    return h("li", null, h("button", { type: "button", class: "output", onclick: press }, place, text, figure));
  });
  return h("ol", { class: "outputs" }, rows);
}

// --- blanks, filled ---

async function fillBlanks(view, text, signal) {
  if (!BLANK.test(text)) {
    clear(view.said, emptyNote(t("language.no_blank")));
    return lookAtText(view, text, signal);
  }
  const filled = await view.app.api.fill({ model: view.app.model().name, text }, { signal });
  const blanks = filled.blanks.map((guesses, index) =>
    card(t("language.blank", { number: index + 1 }), {}, h("ul", { class: "bars" }, guesses.map(guessBar))));
  clear(view.said, card(t("language.filled"), {}, h("p", { class: "growing", dir: "auto" }, filled.text)), h("div", { class: "pairs" }, blanks));
  view.app.say(filled.text);
  await lookAtText(view, text, signal);
}

function guessBar({ piece, probability }) {
  const style = { width: `${Math.max(0.5, probability * 100)}%`, "background-color": shade(0.25 + 0.7 * probability) };
  return h(
    "li",
    null,
    h("span", { class: "bar-word", dir: "auto" }, piece),
    h("span", { class: "bar-track", "aria-hidden": "true" }, h("span", { class: "bar", style })),
    h("span", { class: "number" }, probability.toFixed(3)),
  );
}

// --- how the words look at each other ---

async function lookAtText(view, text, signal) {
  const request = { text, model: view.app.model().name };
  const trace = await askTrace(view.app, request, async (found) => found, { signal });
  view.app.state.begun = { text: view.text, looked: text };
  view.layer = Math.min(view.layer ?? trace.layers.length - 1, trace.layers.length - 1);
  await showLayer(view, request, trace, signal);
}

async function showLayer(view, request, trace, signal) {
  const layer = trace.layers[view.layer];
  const map = await askTrace(view.app, request, (fresh) => view.app.api.weights(fresh.id, { layer: view.layer, head: "mean" }, { signal }), { signal });
  if (signal.aborted) return;
  const title = `${t(`heads.${layer.use}`)}: ${t("heads.layer", { layer: layer.layer + 1 })}, ${t("heads.meanOfHeads")}`;
  const choices = trace.layers.map((one, index) => [index, t("heads.layer", { layer: one.layer + 1 })]);
  const chosen = dropDown(t("translate.layer"), choices, view.layer, (index) => {
    view.layer = Number(index);
    askedFor(view, view.looked, () => showLayer(view, request, trace, signal));
  });
  const go = (id, words) => h("button", { type: "button", class: "link", onclick: () => view.app.go(id) }, words);
  const sides = { rows: trace[layer.queries], columns: trace[layer.keys] };
  const width = Math.max(280, Math.min(WIDEST_LOOK, view.looked.clientWidth - 50));
  view.map?.stop();
  view.map = largeHead({ map, sides, use: layer.use, title, asWords: true, width });
  const links = h("p", null, go("heads", t("language.to_heads")), " ", go("inside", t("language.to_inside")));
  clear(view.looked, card(t("language.looks"), { beside: chosen }, view.map.node, links));
}
