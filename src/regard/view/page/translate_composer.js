/** Where a sentence is typed, or taken from the examples. */

import { clear, h } from "./make.js";
import { wordTakerOf } from "./takers.js";
import { language, t } from "./text.js";

const LONGEST_TEXT = 5000; // characters: room for 512 tokens

/**
 * A text box as {node, setText(text), setBusy(bool), setExamples(list), setNote(text)}; `onText(text)` asks for its translation.
 * What is typed and not sent is kept in app.state.draft, so that it outlives the box.
 */
export function composer(app, onText) {
  return app.api.isEmbedded ? fixedSentence(app) : typedSentence(app, onText);
}

/** The one sentence of a file from disk: nothing else can be translated, so nothing can be typed. */
function fixedSentence(app) {
  const note = unlearnedPlace();
  const text = h("p", { class: "fixed-sentence", dir: "auto" }, app.api.sourceText);
  const node = h("section", { class: "card composer stack" }, h("p", { class: "faint small" }, sourceLabel(app)), text, note);
  const nothing = () => null;
  return { node, setText: nothing, setBusy: nothing, setExamples: nothing, setNote: (words) => clear(note, words) };
}

function unlearnedPlace() {
  return h("p", { class: "small unlearned", role: "status" });
}

function typedSentence(app, onText) {
  const chips = h("div", { class: "chips" });
  const box = h("textarea", {
    id: "source-text",
    rows: "2",
    maxlength: String(LONGEST_TEXT),
    dir: "auto",
    spellcheck: "false",
    value: app.state.draft ?? app.state.source,
    onkeydown: submitOnEnter,
    oninput: () => (app.state.draft = box.value),
  });
  const label = h("label", { for: "source-text", class: "faint small" });
  const note = unlearnedPlace();
  const go = h("button", { type: "submit", class: "primary" }, t("translate.go"));
  const send = (given) => {
    app.state.draft = null;
    box.value = given;
    onText(given);
  };
  const node = h(
    "form",
    { class: "card composer stack", onsubmit: (event) => submitText(event, box, send) },
    label,
    h("div", { class: "composer-row" }, box, go),
    note,
    chips,
  );
  nameWanted(app, { label, box, go });
  const stop = app.onModel(() => (node.isConnected ? nameWanted(app, { label, box, go }) : stop()));
  return {
    node,
    setText: (given) => (box.value = app.state.draft ?? given),
    setBusy: (isBusy) => node.classList.toggle("is-busy", isBusy),
    setNote: (words) => clear(note, words),
    setExamples: (examples) => fillExamples(chips, examples, (example) => send(example.source)),
  };
}

/** Say what the model wants, and in which language it reads, where it says so itself. */
function nameWanted(app, { label, box, go }) {
  clear(label, sourceLabel(app));
  const model = wordTakerOf(app);
  const isOfOneLanguage = model && model.takes !== "text";
  const name = languageName(model?.source);
  clear(go, isOfOneLanguage ? t(`language.go_${model.takes}`) : t("translate.go"));
  if (isOfOneLanguage) box.placeholder = t(`language.placeholder_${model.takes}`);
  else box.placeholder = name ? t("translate.placeholder_in", { language: name }) : t("translate.placeholder");
}

function sourceLabel(app) {
  const model = wordTakerOf(app);
  if (model && model.takes !== "text") return t(`language.source_${model.takes}`);
  const name = languageName(model?.source);
  return name ? t("translate.source_in", { language: name }) : t("translate.source");
}

/** What the page's language calls a language; null where the code is none that it knows. */
function languageName(code) {
  try {
    return new Intl.DisplayNames([language()], { type: "language", fallback: "none" }).of(code) ?? null;
  } catch {
    return null; // a recipe may call its language anything
  }
}

function submitText(event, box, onText) {
  event.preventDefault();
  const text = box.value.trim();
  if (text) onText(text);
  else box.focus();
}

/** Enter translates; Shift and Enter begin a new line; Enter that ends a Korean syllable does neither. */
function submitOnEnter(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  event.target.form.requestSubmit();
}

function fillExamples(chips, examples, onExample) {
  clear(
    chips,
    examples.length > 0 && h("span", { class: "faint small" }, t("translate.examples")),
    examples.map((example) =>
      h("button", { type: "button", dir: "auto", title: example.source, onclick: () => onExample(example) }, clipped(example.source)),
    ),
  );
}

function clipped(text) {
  const letters = [...text];
  return letters.length > 44 ? `${letters.slice(0, 43).join("")}…` : text;
}
