/** Notes in place of a result: nothing to show, loading, what went wrong, and which model a view needs. */

import { hasMessage, t } from "../core/i18n.js";
import { h } from "../core/ui.js";

/** @import { Store } from "../core/store.js" */
/** @import { ComponentChildren } from "../core/ui.js" */
/** @import { Model } from "../data/backend.js" */

/** @param {{ children?: ComponentChildren }} props */
export function Empty({ children }) {
  return h("div", { class: "empty" }, children);
}

/**
 * A message in which `commands` are set as code. (The bundler takes a backtick in the source for a template.)
 * @param {string} text
 * @returns {ComponentChildren}
 */
export function withCode(text) {
  return text.split("\u0060").map((part, index) => (index % 2 ? h("code", { key: index }, part) : part));
}

/**
 * What a view waits for: a model that is trained, or one that the server is loading.
 * @param {{ model: Model | null }} props
 */
export function NotReady({ model }) {
  if (!model) return h(Empty, null, t("note.no_model"));
  return h(Empty, null, t(model.run ? "note.not_ready" : "note.loading", { model: model.name }));
}

export function Loading() {
  return h("p", { class: "empty waiting", role: "status" }, t("note.waiting"));
}

/**
 * An error in the reader's language where the page has a message for its code, else in the server's words.
 * @param {Error & { code?: string }} error
 */
function problemText(error) {
  const key = `problem.${error.code}`;
  return t("note.problem", { message: hasMessage(key) ? t(key, { message: error.message }) : error.message });
}

/** @param {{ error: Error & { code?: string } }} props */
export function Problem({ error }) {
  return h("p", { class: "problem", role: "alert" }, withCode(problemText(error)));
}

/** @param {{ store: Store, view: string, children?: ComponentChildren }} props */
function ViewLink({ store, view, children }) {
  return h("button", { type: "button", class: "link", onClick: () => store.set({ view }) }, children);
}

/**
 * The chosen model does not translate: a link to the view that shows what it does.
 * @param {{ store: Store }} props
 */
export function OtherModel({ store }) {
  const task = store.model.value?.task;
  const isCaptioner = task === "image-to-text";
  if (task === "classification")
    return h(Empty, null, t("language.instead"), " ", h(ViewLink, { store, view: "decide" }, t("decide.to_decide")));
  if (isCaptioner)
    return h(
      Empty,
      null,
      t("translate.pictures"),
      " ",
      h(ViewLink, { store, view: "pictures" }, t("translate.to_pictures")),
    );
  return h(
    Empty,
    null,
    t("language.instead"),
    " ",
    h(ViewLink, { store, view: "language" }, t("language.to_language")),
  );
}
