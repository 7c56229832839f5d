/** Small parts that views share: notes in place of a picture, choices, and cards. */

import { clear, h } from "./make.js";
import { isSaid, t } from "./text.js";

/** Something is being fetched. */
export function waitingNote(text = t("note.waiting")) {
  return h("p", { class: "empty waiting", role: "status" }, text);
}

/** Nothing to show, and why. */
export function emptyNote(...children) {
  return h("div", { class: "empty" }, children);
}

/** The chosen model is of another kind than the view: what can be done about it. */
export function otherNote(app) {
  if (app.model().takes === "pictures") return picturesNote(app);
  return emptyNote(t("language.instead"), " ", h("button", { type: "button", class: "link", onclick: () => app.go("language") }, t("language.to_language")));
}

/** The chosen model takes pictures, where text is asked for. */
export function picturesNote(app) {
  return emptyNote(t("translate.pictures"), " ", h("button", { type: "button", class: "link", onclick: () => app.go("pictures") }, t("translate.to_pictures")));
}

const TRAINING_FIRST = "regard data world sentences --out runs/world/data\nregard train recipes/world-transformer.toml\nregard serve runs/world-transformer/model";

/** No model is there: `waiting` where a run may yet bring one; else what can be seen without one, and how to get one. */
export function noModelNote(app, waiting) {
  const note = emptyNote(waiting);
  if (!app.models().length) app.api.runs().then(({ runs }) => runs.length || tellWithoutModel(app, note), () => null);
  return note;
}

function tellWithoutModel(app, note) {
  const link = (id, key) => h("button", { type: "button", class: "link", onclick: () => app.go(id) }, t(key));
  clear(note, h("p", null, t("note.serverWithoutModel")), h("p", null, link("inside", "note.toExample")), h("p", null, link("positions", "note.toPositions")),
    h("p", null, t("note.howToGetModel")), h("pre", { class: "command" }, TRAINING_FIRST), h("p", null, t("note.orDemo")), h("pre", { class: "command" }, "make demo"));
}

/** What went wrong, in words: the page's own where it knows the problem, else the server's. */
export function problemText({ code, message }) {
  return t("note.problem", { message: isSaid(`problem.${code}`) ? t(`problem.${code}`) : message });
}

/** The same as a note. */
export function problemNote(problem) {
  return h("p", { class: "problem", role: "alert" }, problemText(problem));
}

/** Whether a promise failed only because nobody waits for it any more. */
export function isAbandoned(problem) {
  return problem?.name === "AbortError";
}

/** A row of buttons of which one is pressed: `choices` are [value, words]; `choose(value)` is told of a new one. */
export function segments(label, choices, chosen, choose) {
  const press = (value) => {
    choices.forEach(([other], index) => buttons[index].setAttribute("aria-pressed", String(other === value)));
    choose(value);
  };
  const buttons = choices.map(([value, words]) =>
    h("button", { type: "button", "aria-pressed": String(value === chosen), onclick: () => press(value) }, words));
  return h("div", { class: "segments", role: "group", "aria-label": label }, buttons);
}

/** A labelled drop-down list of [value, words]. */
export function dropDown(label, choices, chosen, choose) {
  const options = choices.map(([value, words]) => h("option", { value, selected: String(value) === String(chosen) }, words));
  return h("label", { class: "field" }, label, h("select", { onchange: (event) => choose(event.target.value) }, options));
}

/** A labelled slider over whole numbers, with its number shown. */
export function slider(label, { least, most, step = 1, value }, onValue) {
  const number = h("span", { class: "number" }, value); // not <output>: the label would be that one's
  const input = h("input", { type: "range", min: least, max: most, step, value });
  input.addEventListener("input", () => {
    number.textContent = input.value;
    onValue(Number(input.value));
  });
  return { node: h("label", { class: "field slider" }, h("span", null, label, " ", number), input), input, number };
}

/** A view's first lines: what is seen here, and how to read it. */
export function lead(title, ...explanation) {
  return h("div", { class: "lead" }, h("h1", null, title), explanation.map((text) => h("p", null, text)));
}

/** A card with a heading, an explanation, and what it is about; `beside` stands at the right of the heading. */
export function card(title, { explanation = null, beside = null } = {}, ...children) {
  const head = h("div", { class: "card-head" }, h("h2", null, title), beside);
  return h("section", { class: "card stack-card" }, head, explanation && h("p", { class: "faint explanation" }, explanation), children);
}
