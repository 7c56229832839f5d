/** Inside: the arithmetic of attention, step by step; first a worked example by hand, then the user's own sentence and model. */

import { onTheme } from "./colour.js";
import { keepingFocus } from "./focusing.js";
import { workThrough } from "./inside_arithmetic.js";
import { IN_ORDER, exampleInside } from "./inside_example.js";
import { shuffleCard, shuffledOrder } from "./inside_shuffle.js";
import { insideSteps } from "./inside_steps.js";
import { clear, h } from "./make.js";
import { card, dropDown, isAbandoned, lead, noModelNote, picturesNote, problemNote, segments } from "./notes.js";
import { hasLetters, pieceLabel, signsNote } from "./pieces.js";
import { sentenceBar } from "./sentence_bar.js";
import { takesWords } from "./takers.js";
import { t } from "./text.js";
import { askTrace } from "./tracing.js";

const BEGINNING = {
  isExample: true,
  exampleQuery: 0,
  exampleOrder: IN_ORDER,
  isCausal: false,
  layer: null,
  head: 0,
  query: null,
  key: 0,
  isWhole: false,
  projection: "q",
  projectionDimension: 0,
  preparedDimension: 0,
  dimension: 0,
  outputDimension: 0,
  inner: 0,
  outer: 0,
  spoken: null,
  withoutScaling: false,
  withoutMasking: false,
};

export const insideView = { id: "inside", title: "inside.title", mount: mountInside };

function mountInside(root, app) {
  app.state.inside = { ...BEGINNING, ...app.state.inside };
  const view = {
    app,
    inside: null,
    trace: null,
    asking: new AbortController(),
    choices: h("div", { class: "stack" }),
    steps: h("div", { class: "view steps" }),
  };
  const modes = segments(
    t("inside.modes"),
    [
      [true, t("inside.mode_example")],
      [false, t("inside.mode_own")],
    ],
    app.state.inside.isExample,
    (isExample) => {
      app.state.inside = { ...app.state.inside, isExample, key: 0, withoutMasking: false, isWhole: false };
      startMode(view);
    },
  );
  clear(
    root,
    h("div", { class: "view inside" }, lead(t("inside.heading"), t("inside.lead")), h("div", null, modes), view.choices, view.steps),
  );
  const stopModel = app.onModel(() => {
    Object.assign(app.state.inside, { layer: null, head: 0, query: null, key: 0, inner: 0, outer: 0, spoken: null });
    if (!app.state.inside.isExample) startMode(view);
  });
  const stopTheme = onTheme(() => view.inside && showSteps(view));
  startMode(view);
  return () => {
    view.asking.abort();
    stopModel();
    stopTheme();
  };
}

function startMode(view) {
  view.asking.abort();
  view.inside = null;
  clear(view.steps);
  if (view.app.state.inside.isExample) showExample(view);
  else showOwn(view);
}

/** Change what is chosen; what the server must be asked for is asked, the rest is recomputed here. */
function changeInside(view, changes) {
  const isElsewhere = ["layer", "query"].some((name) => name in changes);
  Object.assign(view.app.state.inside, isElsewhere && { spoken: null }, "layer" in changes && { inner: 0, outer: 0 }, changes);
  if (view.app.state.inside.isExample) return showExample(view);
  const mustAsk = ["layer", "head", "query", "inner", "outer"].some((name) => name in changes);
  return mustAsk ? askInside(view, isElsewhere || "head" in changes) : showSteps(view);
}

function showExample(view) {
  const { exampleQuery, exampleOrder, isCausal } = view.app.state.inside;
  const isShuffled = exampleOrder.some((word, place) => word !== place);
  view.inside = exampleInside(exampleQuery, isCausal, exampleOrder);
  const causal = checkBox("isCausal", t("inside.causal"), isCausal, (isOn) =>
    changeInside(view, { isCausal: isOn, withoutMasking: false }),
  );
  keepingFocus(view.choices, () =>
    clear(
      view.choices,
      card(
        t("inside.example_title"),
        {},
        h(
          "div",
          { class: "stack" },
          h("p", null, t("inside.example_text")),
          tokenRow(t("inside.query"), view.inside.key_labels, exampleQuery, (query) => changeInside(view, { exampleQuery: query })),
          orderButtons(view, isShuffled),
          h("div", { class: "switches" }, causal, ...switchBoxes(view)),
        ),
      ),
      isShuffled && shuffleCard(exampleOrder, isCausal),
    ),
  );
  showSteps(view);
}

/** "Shuffle the words", and back; the word that is looking and the one looked at stay chosen. */
function orderButtons(view, isShuffled) {
  const reorder = (order) => {
    const { exampleQuery, exampleOrder, key } = view.app.state.inside;
    const placeOf = (place) => order.indexOf(exampleOrder[place]);
    changeInside(view, { exampleOrder: order, exampleQuery: placeOf(exampleQuery), key: placeOf(key) });
  };
  const button = (name, order, disabled) =>
    h("button", { type: "button", "data-focus": name, disabled, onclick: () => reorder(order()) }, t(`inside.${name}`));
  return h(
    "div",
    { class: "controls" },
    button("shuffle", () => shuffledOrder(view.app.state.inside.exampleOrder), false),
    button("unshuffle", () => IN_ORDER, !isShuffled),
  );
}

/** The user's own sentence: typed here or taken over from another view. */
function showOwn(view) {
  const { app } = view;
  const model = app.model();
  if (!model) return void clear(view.choices, noModelNote(app, t("translate.no_model")));
  if (!takesWords(model)) return void clear(view.choices, picturesNote(app));
  view.own = h("div", { class: "stack" });
  const bar = app.api.isEmbedded ? null : sentenceBar(app, (text) => traceOwn(view, text));
  clear(view.choices, bar?.node, card(t("inside.own_title"), {}, view.own));
  if (!bar) traceOwn(view, app.api.sourceText);
}

async function traceOwn(view, text) {
  await asked(view, async (signal) => {
    const { forced } = view.app.state;
    view.request = { text, target: forced?.text === text ? forced.target : null };
    view.trace = await askTrace(view.app, view.request, async (trace) => trace, { signal });
    fitChoice(view);
    if (!view.trace.layers.length)
      return void clear(view.own, h("p", { class: "explain" }, t("translate.nothing", { kind: view.app.model().kind })));
    await askAndShow(view, signal);
  });
}

/** A layer, head and query that this trace has; to begin with, the last attention between target and source, or the last there is. */
function fitChoice({ app, trace }) {
  const choice = app.state.inside;
  const cross = trace.layers.map((layer) => layer.use).lastIndexOf("cross");
  if (choice.layer === null || choice.layer >= trace.layers.length) choice.layer = cross >= 0 ? cross : trace.layers.length - 1;
  const layer = trace.layers[choice.layer];
  if (!layer) return;
  choice.head = Math.min(choice.head, layer.heads - 1);
  choice.query = Math.min(choice.query ?? firstToSay(trace, layer), trace[layer.queries].pieces.length - 1);
}

/** The first query worth a look: in a target, one that is about to say some of a word; in a source, one that is some of a word. */
export function firstToSay(trace, { queries }) {
  const { pieces } = trace[queries];
  return Math.max(0, pieces.findIndex((piece, index) => hasLetters(queries === "target" ? pieces[index + 1] ?? "" : piece)));
}

function askInside(view, isElsewhere) {
  fitChoice(view);
  return asked(view, (signal) => askAndShow(view, signal, isElsewhere));
}

/** Ask for what is chosen; elsewhere, the key that is looked at most is chosen with it. */
async function askAndShow(view, signal, isElsewhere = true) {
  const choice = view.app.state.inside;
  const { layer, head, query, inner, outer } = choice;
  const place = { layer, head, query, inner, outer };
  view.inside = await askTrace(view.app, view.request, (trace) => view.app.api.inside(trace.id, place, { signal }), { signal });
  if (isElsewhere) choice.key = view.inside.weights.indexOf(Math.max(...view.inside.weights));
  showOwnChoices(view);
  showSteps(view);
}

/** A newer question abandons an older one; a problem is shown in words. */
async function asked(view, ask) {
  view.asking.abort();
  view.asking = new AbortController();
  const { signal } = view.asking;
  try {
    await ask(signal);
  } catch (problem) {
    if (!isAbandoned(problem) && !signal.aborted) clear(view.steps, h("section", { class: "card" }, problemNote(problem)));
  }
}

function showOwnChoices(view) {
  const { trace, app } = view;
  const choice = app.state.inside;
  const layer = trace.layers[choice.layer];
  const layers = trace.layers.map((one, index) => [index, t(`inside.use_${one.use}`, { number: one.layer + 1 })]);
  const heads = Array.from({ length: layer.heads }, (_, head) => [head, t("translate.head_number", { number: head + 1 })]);
  const fields = h(
    "div",
    { class: "controls" },
    named(
      "layer",
      dropDown(t("inside.attention"), layers, choice.layer, (value) => changeInside(view, { layer: Number(value) })),
    ),
    named(
      "head",
      dropDown(t("translate.head"), heads, choice.head, (value) => changeInside(view, { head: Number(value) })),
    ),
  );
  keepingFocus(view.own, () =>
    clear(
      view.own,
      h("p", { class: "pair" }, h("span", { dir: "auto" }, view.request.text), " → ", h("b", { dir: "auto" }, trace.text)),
      fields,
      tokenRow(t("inside.query"), trace[layer.queries].pieces, choice.query, (query) => changeInside(view, { query })),
      layer.queries === "target" && h("p", { class: "faint small" }, sayingText(trace, choice.query)),
      signsNote([...trace.source.pieces, ...trace.target.pieces]),
      h("div", { class: "switches" }, switchBoxes(view)),
    ),
  );
}

/** The decoder reads one token and is about to say the next. */
function sayingText(trace, query) {
  const { pieces } = trace.target;
  return t("inside.saying", { read: pieceLabel(pieces[query]), said: pieceLabel(pieces[query + 1] ?? "</s>") });
}

function named(focus, field) {
  field.querySelector("select").dataset.focus = focus;
  return field;
}

/** "Without scaling" and "without masking"; each is offered where there is something to switch off. */
function switchBoxes(view) {
  const choice = view.app.state.inside;
  const isScaled = view.inside.layer.score === "scaled_dot";
  const hasHidden = view.inside.visible.some((isVisible) => !isVisible);
  const box = (name, isOffered) =>
    checkBox(
      name,
      t(`inside.${name}`),
      choice[name] && isOffered,
      (isOn) => changeInside(view, { [name]: isOn }),
      isOffered ? null : t(`inside.${name}_none`),
    );
  return [box("withoutScaling", isScaled), box("withoutMasking", hasHidden)];
}

function checkBox(name, label, checked, onChange, whyNot = null) {
  const input = h("input", {
    type: "checkbox",
    "data-focus": name,
    checked,
    disabled: whyNot !== null,
    onchange: (event) => onChange(event.target.checked),
  });
  return h("label", { class: "check", title: whyNot }, input, label);
}

/** Tokens to choose a query from: arrow keys go along the row. */
function tokenRow(label, tokens, chosen, choose) {
  const move = (event) => {
    const to = { ArrowRight: chosen + 1, ArrowLeft: chosen - 1, Home: 0, End: tokens.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (tokens[to] !== undefined && to !== chosen) choose(to);
  };
  const buttons = tokens.map((token, index) => {
    const isChosen = index === chosen;
    const attributes = {
      type: "button",
      class: "token",
      dir: "auto",
      role: "radio",
      "aria-checked": String(isChosen),
      tabindex: isChosen ? "0" : "-1",
      "data-focus": isChosen ? "query" : null,
    };
    return h("button", { ...attributes, onclick: () => choose(index), onkeydown: move }, pieceLabel(token));
  });
  return h(
    "div",
    { class: "token-field" },
    h("span", { class: "faint small" }, label),
    h("div", { class: "tokens", role: "radiogroup", "aria-label": label }, buttons),
  );
}

function showSteps(view) {
  const { inside } = view;
  const choice = view.app.state.inside;
  choice.key = Math.min(choice.key, inside.key_labels.length - 1);
  const isScaling = choice.withoutScaling && inside.layer.score === "scaled_dot";
  const isMasking = choice.withoutMasking && inside.visible.includes(false);
  const work = workThrough(inside);
  const other = isScaling || isMasking ? workThrough(inside, { isScaled: !isScaling, isMasked: !isMasking }) : null;
  const shown = { ...choice, withoutScaling: isScaling, withoutMasking: isMasking };
  const change = (changes) => changeInside(view, changes);
  const goTo = (layer) => change({ layer }).then(() => view.choices.querySelector("[data-focus=layer]")?.focus());
  keepingFocus(view.steps, () => clear(view.steps, insideSteps({ inside, work, other, choice: shown, change, goTo })));
}
