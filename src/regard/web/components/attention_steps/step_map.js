// @ts-check
/** The block as a diagram: its steps from bottom to top of the computation, of which one is current. A click leads to a step. */

import { t } from "../../core/i18n.js";
import { useLostFocus } from "../../core/query.js";
import { h, useEffect, useState } from "../../core/ui.js";

/** @import { Ref } from "../../core/ui.js" */
/** @import { MessageKey } from "../../core/i18n.js" */

/** @type {Record<string, MessageKey>} by the id of a step */
const NAMES = {
  x: "step.x",
  "norm-embedding": "step.norm",
  "other-self-attention": "step.self_attention",
  "other-recurrence": "step.recurrence",
  "norm-attention": "step.norm",
  projections: "step.projections",
  scores: "step.scores",
  scaling: "step.scaling",
  "position-bias": "step.position_bias",
  visibility: "step.mask",
  softmax: "step.softmax",
  context: "step.context",
  output: "step.output",
  "add-own": "step.add",
  "other-cross-attention": "step.cross_attention",
  "norm-feed-forward": "step.norm",
  inner: "step.inner",
  outer: "step.outer",
  "add-network": "step.add",
  "norm-last": "step.norm",
  head: "step.head",
  candidates: "step.candidates",
  upward: "step.upward",
  after: "step.after",
};
const ATTENTION = ["projections", "scores", "scaling", "position-bias", "visibility", "softmax", "context", "output"];
const NETWORK = ["inner", "outer"];

/**
 * The residual connections of a block as the steps that they join: from before a sub-layer to its addition.
 * @param {string[]} ids
 * @returns {[from: number, to: number][]}
 */
export function residuals(ids) {
  const [own, network] = [ids.indexOf("add-own"), ids.indexOf("add-network")];
  const start = ids.findLastIndex((id, index) => index < own && /^(x|norm-embedding|other-.*)$/.test(id));
  const middle = ids.findLastIndex((id, index) => index < network && /^(add-own|other-.*)$/.test(id));
  return /** @type {[number, number][]} */ ([
    [start, own],
    [middle, network],
  ]).filter(([from, to]) => from >= 0 && to > from);
}

/**
 * @param {object} props
 * @param {string[]} props.ids of all steps
 * @param {string} props.chosen the step that is shown alone; empty: all are shown
 * @param {Ref<HTMLElement | null>} props.cards
 * @param {(id: string) => void} props.onChoose an empty id: all steps
 */
export function StepMap({ ids, chosen, cards, onChoose }) {
  const visible = useVisibleStep(cards, ids, chosen);
  const current = chosen || visible || ids[0];
  const at = ids.indexOf(current);
  const visit = (/** @type {string} */ id) => {
    if (chosen) return onChoose(id);
    const card = cards.current?.querySelector(`[data-step="${id}"]`);
    card?.scrollIntoView({ block: "start" });
    /** @type {HTMLElement | null | undefined} */ (card?.querySelector("h2"))?.focus({ preventScroll: true });
  };
  const node = (/** @type {string} */ id, /** @type {number} */ index) => {
    const part = ATTENTION.includes(id) ? "is-attention" : NETWORK.includes(id) ? "is-network" : "";
    const button = { type: "button", "aria-current": id === current ? "step" : null, onClick: () => visit(id) };
    return h(
      "li",
      { key: id, class: part, style: { "grid-row": String(index + 1) } },
      h("button", button, h("span", { class: "faint" }, index + 1), " ", t(NAMES[id])),
    );
  };
  const arc = (/** @type {[number, number]} */ [from, to]) =>
    h("li", {
      key: `arc-${from}`,
      class: "arc",
      "aria-hidden": "true",
      style: { "grid-row": `${from + 1} / ${to + 2}` },
    });
  const possible = useLostFocus(at); // at either end the other button takes the focus
  const step = (/** @type {number} */ by, /** @type {MessageKey} */ label) => {
    const next = ids[at + by];
    const takesFocus = by > 0 || !ids[at + 1];
    const state = next ? { ref: takesFocus ? possible : undefined } : { disabled: true };
    return h("button", { type: "button", ...state, onClick: () => onChoose(next) }, t(label));
  };
  return h(
    "nav",
    { class: "step-map", "aria-label": t("step.map") },
    h(
      "div",
      { class: "segments", role: "group", "aria-label": t("step.which") },
      h("button", { type: "button", "aria-pressed": !chosen, onClick: () => onChoose("") }, t("step.all")),
      h("button", { type: "button", "aria-pressed": Boolean(chosen), onClick: () => onChoose(current) }, t("step.one")),
    ),
    h("p", { class: "faint small step-at" }, t("step.at", { number: at + 1, count: ids.length })),
    h("ol", null, residuals(ids).map(arc), ids.map(node)),
    chosen && h("div", { class: "controls" }, step(-1, "step.previous"), step(1, "step.next")),
  );
}

/**
 * The step at the top of the window while all are shown.
 * @param {Ref<HTMLElement | null>} cards
 * @param {string[]} ids
 * @param {string} chosen
 */
function useVisibleStep(cards, ids, chosen) {
  const [visible, setVisible] = useState("");
  useEffect(() => {
    if (chosen || !cards.current || !globalThis.IntersectionObserver) return;
    const observer = new IntersectionObserver(
      (entries) => {
        const entered = entries.find(({ isIntersecting }) => isIntersecting);
        if (entered) setVisible(/** @type {HTMLElement} */ (entered.target).dataset.step ?? "");
      },
      { rootMargin: "-15% 0px -75% 0px" }, // a line near the top of the window
    );
    for (const card of cards.current.querySelectorAll("[data-step]")) observer.observe(card);
    return () => observer.disconnect();
  }, [ids.join(), chosen]);
  return visible;
}
