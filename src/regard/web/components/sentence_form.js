/** The form for a sentence, with the examples of the model. Without a sentence, the first example is sent. */

import { language, t } from "../core/i18n.js";
import { useQuery } from "../core/query.js";
import { h, useEffect, useRef } from "../core/ui.js";
import { modelFor, takesText } from "../data/models.js";
import { WordList } from "./word_list.js";

/** @import { Store } from "../core/store.js" */
/** @import { Example, Model } from "../data/backend.js" */

const LONGEST_TEXT = 5000; // characters: room for 512 tokens
const MOST_EXAMPLES = 5;
const MOST_RANDOM = 500; // sentences of which one is drawn
const LONGEST_EXAMPLE = 44; // letters
/** The first sentence of a model without examples, by its source language. */
const FIRST_SENTENCES = /** @type {Record<string, string>} */ ({
  de: "KI verändert die Welt.",
  en: "AI changes the world",
  es: "La IA cambia el mundo.",
  fr: "L'IA change le monde.",
  it: "L'IA cambia il mondo.",
  ja: "人工知能は世界を変える。",
  ko: "AI가 세상을 바꾼다",
  pt: "A IA muda o mundo.",
  ru: "Искусственный интеллект меняет мир.",
  zh: "人工智能改变世界。",
});
const FIRST_BLANKS = "AI changes the ___.";
/** Messages for models of one language, by what they take. */
const LANGUAGE_MODEL = /** @type {const} */ ({
  "text-generation": {
    label: "language.source_beginning",
    placeholder: "language.placeholder_beginning",
    go: "language.go_beginning",
  },
  "fill-mask": {
    label: "language.source_blanks",
    placeholder: "language.placeholder_blanks",
    go: "language.go_blanks",
  },
  encoder: { label: "language.source_encoder", placeholder: "language.placeholder_encoder", go: "language.go_encoder" },
  classification: { label: "decide.source", placeholder: "decide.placeholder", go: "decide.go" },
});

/**
 * @param {object} props
 * @param {Store} props.store
 * @param {string} [props.text] the sentence that is shown, unless another one is being typed
 * @param {(text: string) => void} [props.onSend]
 * @param {Model | null} [props.model] whose sentences are given
 * @param {boolean} [props.isBusy]
 * @param {string} [props.note]
 */
export function SentenceForm({
  store,
  text = store.text.value,
  onSend = (sent) => store.set({ text: sent }),
  model = textModel(store),
  isBusy = false,
  note = "",
}) {
  const { data, draft } = store;
  const textarea = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const query = useQuery(model && ((signal) => data.examples(exampleQuery(model), { signal })), [model?.name]);
  const examples = query.data?.examples.slice(0, data.isEmbedded ? undefined : MOST_EXAMPLES) ?? []; // a file has few
  const send = (/** @type {string} */ sent) => {
    draft.value = null;
    onSend(sent);
  };
  const isSettled = data.isEmbedded || !query.isLoading;
  useEffect(() => {
    if (model && isSettled && !text && draft.peek() === null) send(examples[0]?.source ?? firstSentence(model));
  }, [model?.name, isSettled, text]);
  const { label, placeholder, go } = formTexts(model);
  const unknown = h("p", { class: "small unlearned", role: "status" }, note);
  if (data.isEmbedded) {
    const sentence = h("p", { class: "fixed-sentence", dir: "auto" }, text);
    const others = h("div", { class: "chips" }, examples.length > 1 && examples.map(chip));
    return h(
      "section",
      { class: "card composer stack" },
      h("p", { class: "faint small" }, label),
      sentence,
      unknown,
      others,
    );
  }
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const typed = (draft.peek() ?? text).trim();
    if (typed) send(typed);
    else textarea.current?.focus();
  };
  const box = {
    ref: textarea,
    id: "source-text",
    rows: 1,
    maxlength: LONGEST_TEXT,
    dir: "auto",
    spellcheck: false,
    placeholder,
    value: draft.value ?? text,
    onFocus: () => {
      if (!text) draft.value ??= ""; // the reader is about to type: no example may arrive in between
    },
    onInput: (/** @type {InputEvent} */ event) =>
      (draft.value = /** @type {HTMLTextAreaElement} */ (event.target).value),
    onKeyDown: submitOnEnter,
  };
  return h(
    "form",
    { class: isBusy ? "card composer stack is-busy" : "card composer stack", onSubmit: submit },
    h(
      "div",
      { class: "composer-head" },
      h("label", { for: "source-text", class: "faint small" }, label),
      examples.length > 0 && h("button", { type: "button", class: "random", onClick: sendRandom }, t("form.random")),
      model && h(WordList, { key: model.name, store, model, onWord: addWord }),
    ),
    h("div", { class: "composer-row" }, h("textarea", box), h("button", { type: "submit", class: "primary" }, go)),
    unknown,
    h(
      "div",
      { class: "chips" },
      examples.length > 0 && h("span", { class: "faint small" }, t("translate.examples")),
      examples.map(chip),
    ),
  );

  async function sendRandom() {
    if (!model) return;
    const { examples: all } = await data.examples({ ...exampleQuery(model), limit: MOST_RANDOM });
    const others = all.filter(({ source }) => source !== text);
    if (others.length) send(others[Math.floor(Math.random() * others.length)].source);
  }

  /** @param {string} word */
  function addWord(word) {
    draft.value = `${draft.peek() ?? text} ${word}`.trim();
    textarea.current?.focus();
  }

  /** @param {Example} example */
  function chip({ source }) {
    const state = data.isEmbedded ? { "aria-pressed": String(source === text) } : {};
    const button = { key: source, type: "button", dir: "auto", title: source, ...state, onClick: () => send(source) };
    return h("button", button, clipped(source));
  }
}

/**
 * The chosen model, or a translator where that one takes images.
 * @param {Store} store
 */
function textModel({ model, models }) {
  return takesText(model.value) ? model.value : modelFor(models.value, model.value, "translation");
}

/** @param {Model} model */
function firstSentence({ source, task, fills_masks }) {
  if (task === "fill-mask" && fills_masks) return FIRST_BLANKS;
  return FIRST_SENTENCES[source.split(/[-_]/)[0]] ?? FIRST_SENTENCES.en;
}

/** @param {Model} model */
function exampleQuery({ name, source, target, task }) {
  return task === "translation" ? { source, target } : { source, target, model: name };
}

/** @param {Model | null} model */
function formTexts(model) {
  if (model?.task === "text-generation" || model?.task === "fill-mask" || model?.task === "classification") {
    const isEncoder = model.task === "fill-mask" && !model.fills_masks;
    const { label, placeholder, go } = LANGUAGE_MODEL[isEncoder ? "encoder" : model.task];
    return { label: t(label), placeholder: t(placeholder), go: t(go) };
  }
  const name = languageName(model?.source);
  return {
    label: name ? t("translate.source_in", { language: name }) : t("translate.source"),
    placeholder: name ? t("translate.placeholder_in", { language: name }) : t("translate.placeholder"),
    go: t("translate.go"),
  };
}

/**
 * Enter sends; Shift and Enter begin a new line; Enter that ends the composition of a Korean syllable does neither.
 * @param {KeyboardEvent} event
 */
function submitOnEnter(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  /** @type {HTMLTextAreaElement} */ (event.target).form?.requestSubmit();
}

/**
 * The name of a language in the page's language; null where the code is unknown.
 * @param {string | undefined} code
 */
function languageName(code) {
  if (!code) return null;
  try {
    return new Intl.DisplayNames([language.value], { type: "language", fallback: "none" }).of(code) ?? null;
  } catch {
    return null; // a recipe may name its language anything
  }
}

/** @param {string} text */
function clipped(text) {
  const letters = [...text];
  return letters.length > LONGEST_EXAMPLE ? `${letters.slice(0, LONGEST_EXAMPLE - 1).join("")}…` : text;
}
