/** Notes in place of a result: nothing to show, loading, what went wrong, and which model a view needs. */

import { hasMessage, t } from "../core/i18n.js";
import { useQuery } from "../core/query.js";
import { h } from "../core/ui.js";

/** @import { Store } from "../core/store.js" */
/** @import { ComponentChildren } from "../core/ui.js" */

const TRAINING_COMMANDS = [
  "regard data generate sentences --out runs/world/data",
  "regard train recipes/world-transformer.toml",
  "regard serve runs/world-transformer/model",
];

/** @param {{ children?: ComponentChildren }} props */
export function Empty({ children }) {
  return h("div", { class: "empty" }, children);
}

export function Loading() {
  return h("p", { class: "empty waiting", role: "status" }, t("note.waiting"));
}

/**
 * An error in the reader's language where the page has a message for its code, else in the server's words.
 * @param {Error & { code?: string }} error
 */
export function problemText(error) {
  const key = `problem.${error.code}`;
  return t("note.problem", { message: hasMessage(key) ? t(key, { message: error.message }) : error.message });
}

/** @param {{ error: Error & { code?: string } }} props */
export function Problem({ error }) {
  return h("p", { class: "problem", role: "alert" }, problemText(error));
}

/** @param {{ store: Store, view: string, children?: ComponentChildren }} props */
function ViewLink({ store, view, children }) {
  return h("button", { type: "button", class: "link", onClick: () => store.set({ view }) }, children);
}

/**
 * No model is ready: `waiting` where a run may still produce one, else what works without a model and how to get one.
 * @param {{ store: Store, waiting: string }} props
 */
export function NoModel({ store, waiting }) {
  const isEmpty = store.models.value.length === 0;
  const runs = useQuery(isEmpty && !store.data.isEmbedded && ((signal) => store.data.runs({ signal })), [isEmpty]);
  const isWithoutRuns = runs.data !== null && runs.data.runs.length === 0;
  return h(Empty, null, isWithoutRuns ? h(HowToGetModel, { store }) : waiting);
}

/** @param {{ store: Store }} props */
function HowToGetModel({ store }) {
  return [
    h("p", null, t("note.server_without_model")),
    h("p", null, h(ViewLink, { store, view: "inside" }, t("note.to_example"))),
    h("p", null, h(ViewLink, { store, view: "positions" }, t("note.to_positions"))),
    h("p", null, t("note.how_to_get_model")),
    h("pre", { class: "command" }, TRAINING_COMMANDS.join("\n")),
    h("p", null, t("note.or_demo")),
    h("pre", { class: "command" }, "make demo"),
  ];
}

/**
 * The chosen model does not translate: a link to the view that shows what it does.
 * @param {{ store: Store }} props
 */
export function OtherModel({ store }) {
  const isCaptioner = store.model.value?.task === "image-to-text";
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
