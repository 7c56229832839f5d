/** The words that a model knows: those with a token of their own. A click adds one to the sentence. */

import { t } from "../core/i18n.js";
import { useQuery } from "../core/query.js";
import { h, useState } from "../core/ui.js";
import { Loading, Problem } from "./placeholders.js";

/** @import { Store } from "../core/store.js" */
/** @import { Model } from "../data/backend.js" */

const MOST_SHOWN = 150;

/** @param {{ store: Store, model: Model, onWord: (word: string) => void }} props */
export function WordList({ store, model, onWord }) {
  const [isOpen, setOpen] = useState(false);
  const [start, setStart] = useState("");
  const query = useQuery(isOpen && ((signal) => store.data.words(model.name, { signal })), [isOpen]);
  const toggle = { type: "button", "aria-expanded": String(isOpen), onClick: () => setOpen(!isOpen) };
  return [h("button", { key: "toggle", ...toggle }, t("form.words")), isOpen && list()];

  function list() {
    if (query.error) return h(Problem, { key: "list", error: query.error });
    if (!query.data) return h(Loading, { key: "list" });
    const words = query.data.words.filter((word) => word.toLowerCase().startsWith(start.toLowerCase()));
    const box = {
      type: "text",
      value: start,
      onInput: (/** @type {Event} */ event) => setStart(/** @type {HTMLInputElement} */ (event.target).value),
    };
    return h(
      "div",
      { key: "list", class: "word-list", role: "group", "aria-label": t("form.words") },
      h(
        "label",
        { class: "field" },
        t("form.words_start", { count: words.length.toLocaleString("en") }),
        h("input", box),
      ),
      words
        .slice(0, MOST_SHOWN)
        .map((word) => h("button", { key: word, type: "button", dir: "auto", onClick: () => onWord(word) }, word)),
      words.length > MOST_SHOWN && h("span", { class: "faint small" }, t("form.words_more")),
    );
  }
}
