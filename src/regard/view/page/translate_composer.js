/** Where a sentence is typed, or taken from the examples. */

import { clear, h } from "./make.js";
import { t } from "./text.js";

const LONGEST_TEXT = 5000; // characters: room for 512 tokens

/** A text box as {node, setText(text), setBusy(bool), setExamples(list)}; `onText(text)` asks for its translation. */
export function composer({ text, isFixed, onText }) {
  const chips = h("div", { class: "chips" });
  const box = h("textarea", {
    id: "source-text",
    rows: "2",
    maxlength: String(LONGEST_TEXT),
    dir: "auto",
    spellcheck: "false",
    value: text,
    placeholder: t("translate.placeholder"),
    readonly: isFixed,
    onkeydown: submitOnEnter,
  });
  const go = h("button", { type: "submit", class: "primary" }, t("translate.go"));
  const node = h(
    "form",
    { class: "card composer stack", onsubmit: (event) => submitText(event, box, onText) },
    h("label", { for: "source-text", class: "only-heard" }, t("translate.source")),
    h("div", { class: "composer-row" }, box, !isFixed && go),
    chips,
  );
  return {
    node,
    setText: (given) => (box.value = given),
    setBusy: (isBusy) => node.classList.toggle("is-busy", isBusy),
    setExamples: (examples) =>
      fillExamples(chips, examples, (example) => {
        box.value = example.source;
        onText(example.source);
      }),
  };
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
