// @ts-check
/** The layout of a view: its heading, and its cards. */

import { h } from "../core/ui.js";

/** @import { ComponentChildren } from "../core/ui.js" */

/** @param {{ title: string, children?: ComponentChildren }} props */
export function Lead({ title, children }) {
  return h("div", { class: "lead" }, h("h1", null, title), h("p", null, children));
}

/** @param {{ title: string, explanation?: string, beside?: ComponentChildren, children?: ComponentChildren }} props */
export function Card({ title, explanation, beside, children }) {
  return h(
    "section",
    { class: "card stack-card" },
    h("div", { class: "card-head" }, h("h2", null, title), beside),
    explanation && h("p", { class: "faint explanation" }, explanation),
    children,
  );
}
