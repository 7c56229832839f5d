/** Pictures: a picture is described word by word, each word with the places that it looked at and the arithmetic behind it. */

import { onTheme } from "./colour.js";
import { keepingFocus } from "./focusing.js";
import { workThrough } from "./inside_arithmetic.js";
import { insideSteps } from "./inside_steps.js";
import { clear, h } from "./make.js";
import { card, dropDown, emptyNote, isAbandoned, lead, problemNote, waitingNote } from "./notes.js";
import { lastGiven } from "./picture_picker.js";
import { pictureSource } from "./picture_source.js";
import { hitsBox, regionSheet, saidWord, seenPicture, wordMaps, wordPanels } from "./region_maps.js";
import { savingButtons } from "./saving.js";
import { captionerOf } from "./takers.js";
import { t } from "./text.js";

const STEPS_BEGIN = { key: 0, isWhole: false, projection: "q", projectionDimension: 0, preparedDimension: 0, dimension: 0, outputDimension: 0, inner: 0, outer: 0, spoken: null, withoutScaling: false, withoutMasking: false };

const TRAINING_COMMANDS = "regard data world scenes --out runs/scenes/data --train 40000\nregard train recipes/scenes-attention.toml";

export const picturesView = { id: "pictures", title: "pictures.title", takes: "pictures", mount: mountPictures };

function mountPictures(root, app) {
  const view = {
    app, answer: null, words: [], inside: null, choice: { layer: 0, head: "mean", word: 0 }, steps: { ...STEPS_BEGIN },
    asking: new AbortController(), leaving: new AbortController(),
    captionCard: h("div"), stepsCard: h("div", { class: "view steps" }),
  };
  view.source = pictureSource(app, (given) => describe(view, given), view.leaving.signal);
  view.sourceCard = card(t("pictures.given"), {}, view.source.node);
  const explanation = t(app.api.isEmbedded ? "pictures.lead_fixed" : "pictures.lead");
  clear(root, h("div", { class: "view pictures" }, lead(t("pictures.heading"), explanation), view.sourceCard, view.captionCard, view.stepsCard));
  const stops = [app.onModel(() => begin(view)), onTheme(() => view.inside && showWordSteps(view))];
  begin(view);
  return () => {
    view.asking.abort();
    view.leaving.abort();
    stops.forEach((stop) => stop());
  };
}

/** A model was chosen, or the view was opened: its examples, and a picture described by it. */
async function begin(view) {
  const model = captionerOf(view.app);
  view.asking.abort();
  clear(view.captionCard);
  clearSteps(view);
  view.sourceCard.hidden = !model;
  if (!model) return void clear(view.captionCard, emptyNote(t("pictures.none"), h("pre", { class: "command" }, TRAINING_COMMANDS)));
  const count = await view.source.showExamples(model.name);
  if (view.leaving.signal.aborted || model.name !== captionerOf(view.app)?.name) return;
  if (view.app.api.isEmbedded) view.sourceCard.hidden = count < 2;
  const given = lastGiven(view.app, model) ?? (count ? { example: 0 } : null);
  if (given) describe(view, given);
}

function clearSteps(view) {
  view.inside = null;
  clear(view.stepsCard);
}

/** Describe a picture and show its words as they are said; a newer picture abandons an older one. */
async function describe(view, given) {
  const model = captionerOf(view.app);
  if (!model) return;
  if (given.picture === null) return void clear(view.captionCard, emptyNote(t("pictures.large")));
  view.app.state.pictures = { given, of: model.name };
  view.source.mark(given.example);
  clearSteps(view);
  clear(view.captionCard, waitingNote());
  await askedOnce(view, view.captionCard, async (signal) => {
    const growing = growingCaption(view, model.name);
    for await (const { event, ...told } of view.app.api.describe({ model: model.name, ...given }, { signal })) {
      if (event === "done") view.answer = told;
      else growing[event](told);
    }
    const layers = pictureLayers(view);
    view.choice = { layer: layers.at(-1)?.index ?? null, head: "mean", word: 0 };
    if (layers.length) await showMaps(view, signal);
    else showBlind(view);
    view.app.say(view.answer.text);
  });
}

/** The caption while it grows: the picture as it is seen, then each word as it is said, with where it looks. */
function growingCaption(view, model) {
  const text = h("p", { class: "caption-text", dir: "auto" });
  const strip = h("div", { class: "region-words" });
  let seen = null;
  return {
    seen(told) {
      seen = { ...told, model };
      clear(strip, pictureAlone(seen));
      clear(view.captionCard, card(t("pictures.caption"), { explanation: t("pictures.reading") }, h("div", { class: "stack" }, text, strip)));
    },
    partial({ text: sofar, words }) {
      clear(text, sofar, h("span", { class: "caret", "aria-hidden": "true" }));
      clear(strip, pictureAlone(seen), words.map((word) => h("div", { class: "region-word" }, wordPanels(seen, saidWord(word, seen)))));
    },
  };
}

async function askedOnce(view, node, ask) {
  view.asking.abort();
  view.asking = new AbortController();
  const { signal } = view.asking;
  try {
    await ask(signal);
  } catch (problem) {
    if (!isAbandoned(problem) && !signal.aborted) clear(node, problemNote(problem));
  }
}

function pictureLayers({ answer }) {
  return answer.layers.map((layer, index) => ({ ...layer, index })).filter((layer) => layer.use === "picture");
}

/** A model without attention: the caption alone. */
function showBlind(view) {
  const { answer } = view;
  clear(view.captionCard, card(t("pictures.caption"), {}, h("div", { class: "stack" },
    h("p", { class: "caption-text", dir: "auto" }, answer.text), pictureAlone(answer), h("p", { class: "explain" }, t("pictures.blind", { model: answer.model })))));
}

async function showMaps(view, signal) {
  const { layer, head } = view.choice;
  view.words = wordMaps(view.answer, await view.app.api.weights(view.answer.id, { layer, head }, { signal }));
  showCaption(view);
  await showArithmetic(view, signal);
}

function pictureAlone({ picture, model }) {
  return seenPicture(picture, t("pictures.seen", { model }));
}

/** The boxes of a word, where the caption is the one that is known to be right. */
function boxesOf({ answer, words }, index) {
  const isRight = answer.gold && answer.gold.words.join(" ") === words.map((word) => word.text).join(" ");
  return isRight ? answer.gold.boxes[index] : [];
}

function showCaption(view) {
  const { answer, words } = view;
  const strip = h("div", { class: "region-words", role: "group", "aria-label": t("pictures.caption") }, pictureAlone(answer), words.map((_, index) => regionButton(view, index)));
  const saving = savingButtons(() => regionSheet(answer, words, (index) => boxesOf(view, index)), answer.text);
  keepingFocus(view.captionCard, () =>
    clear(view.captionCard, card(t("pictures.caption"), { explanation: t("pictures.reading"), beside: saving },
      h("div", { class: "stack" }, h("p", { class: "caption-text", dir: "auto" }, answer.text), mapChoices(view), strip, h("p", { class: "faint" }, pointedAt(view))))));
}

function regionButton(view, index) {
  const { answer, words, choice } = view;
  const word = words[index];
  const boxes = boxesOf(view, index);
  const isHit = boxes.length ? hitsBox(word.peak, answer, boxes) : null;
  const heard = t("pictures.look", { peak: word.peak.weight.toFixed(2), row: word.peak.row + 1, column: word.peak.column + 1 });
  const verdict = isHit === null ? "" : `; ${t(isHit ? "pictures.hit" : "pictures.miss")}`;
  const mark = isHit === null ? "" : isHit ? " ✓" : " ✗";
  const attributes = { type: "button", class: "region-word", "aria-pressed": String(index === choice.word), title: chanceOfWord(view, word) };
  return h("button", { ...attributes, onclick: () => chooseWord(view, index) },
    wordPanels(answer, word, { boxes, mark }), h("span", { class: "only-heard" }, ` ${heard}${verdict}`));
}

function chanceOfWord({ answer }, word) {
  const log = word.pieces.reduce((sum, piece) => sum + answer.log_probabilities[piece - 1], 0);
  return t("pictures.probability", { percent: (100 * Math.exp(log)).toFixed(1) });
}

function pointedAt(view) {
  const { answer, words } = view;
  if (!answer.gold) return null;
  const boxed = words.map((word, index) => ({ word, boxes: boxesOf(view, index) })).filter(({ boxes }) => boxes.length);
  if (!boxed.length) return t("pictures.differs", { caption: answer.gold.words.join(" ") });
  return t("pictures.pointing", { hits: boxed.filter(({ word, boxes }) => hitsBox(word.peak, answer, boxes)).length, words: boxed.length });
}

/** Which layer and head are shown, where there are several. */
function mapChoices(view) {
  const layers = pictureLayers(view);
  const { heads } = view.answer.layers[view.choice.layer];
  const change = (changes) => {
    Object.assign(view.choice, changes);
    askedOnce(view, view.captionCard, (signal) => showMaps(view, signal));
  };
  const headChoices = [["mean", t("pictures.mean")], ...Array.from({ length: heads }, (_, head) => [head, t("pictures.head_number", { number: head + 1 })])];
  return h("div", { class: "controls" },
    layers.length > 1 && dropDown(t("pictures.layer"), layers.map(({ index, layer }) => [index, t("pictures.layer_number", { number: layer + 1 })]), view.choice.layer, (layer) => change({ layer: Number(layer) })),
    heads > 1 && dropDown(t("pictures.head"), headChoices, view.choice.head, (head) => change({ head: head === "mean" ? head : Number(head) })));
}

function chooseWord(view, index) {
  view.choice.word = index;
  view.captionCard.querySelectorAll(".region-word").forEach((button, at) => button.setAttribute("aria-pressed", String(at === index)));
  askedOnce(view, view.stepsCard, (signal) => showArithmetic(view, signal));
}

/** The steps from this word's query to its weights, in the chosen head or, for their mean, in the first. */
async function showArithmetic(view, signal, written = null) {
  const { layer, head, word } = view.choice;
  if (!view.words[word]) return void clearSteps(view);
  const query = view.words[word].pieces[0] - 1;
  const asked = view.app.api.inside(view.answer.id, { layer, head: head === "mean" ? 0 : head, query, ...written }, { signal });
  const inside = await asked.catch((problem) => (problem.code === "embedded" ? null : Promise.reject(problem))); // a large file has maps alone
  if (!inside) return;
  if (!written) view.steps = { ...STEPS_BEGIN, key: inside.weights.indexOf(Math.max(...inside.weights)) };
  view.inside = inside;
  showWordSteps(view);
}

function showWordSteps(view) {
  const { inside, words, choice } = view;
  const change = (changes) => {
    const { inner, outer } = Object.assign(view.steps, changes);
    if (!("inner" in changes || "outer" in changes)) return showWordSteps(view);
    return askedOnce(view, view.stepsCard, (signal) => showArithmetic(view, signal, { inner, outer })); // other rows of the matrices
  };
  const steps = insideSteps({ inside, work: workThrough(inside), other: null, choice: view.steps, change });
  const title = h("div", { class: "lead" }, h("h2", null, t("pictures.arithmetic", { word: words[choice.word].text })), h("p", null, t("pictures.arithmetic_text")));
  keepingFocus(view.stepsCard, () => clear(view.stepsCard, title, steps));
}
