// @ts-check
/** The frame of one step: its number, title, formula, a sentence or two, and the numbers below. And what every step is given. */

import { h, useId } from "../../core/ui.js";
import { tokenLabel } from "../../math/tokens.js";
import { withCode } from "../placeholders.js";

/** @import { UrlState } from "../../core/url.js" */
/** @import { ComponentChildren, VNode } from "../../core/ui.js" */
/** @import { AttentionWork, HeadInput, Vector } from "../../math/attention.js" */
/** @import { Block, OutputLayer } from "../../math/block.js" */

/**
 * @typedef {object} LayerInfo
 * @property {string} name
 * @property {string} role
 * @property {number} heads
 * @property {string} queries
 * @property {number} deviation of the recorded weights from the fused kernel's
 */

/**
 * All numbers of one query in one head: the answer of GET traces/{id}/arithmetic, or the worked example.
 * @typedef {HeadInput & DetailFields} Detail
 */

/**
 * @typedef {object} DetailFields
 * @property {LayerInfo & { score: string }} layer
 * @property {string} query_label
 * @property {string[]} key_labels
 * @property {Vector} weights
 * @property {Vector | null} output_bias
 * @property {Vector | null} output of all heads together
 * @property {Block | null} block
 * @property {OutputLayer | null} prediction what may be said here, where the output layer follows
 */

/** @typedef {import("./step_params.js").StepChoice} StepChoice */

/**
 * @typedef {object} Step
 * @property {Detail} detail
 * @property {AttentionWork} work
 * @property {AttentionWork | null} changed the same with something switched off
 * @property {StepChoice} choice
 * @property {number[]} keys the keys that have a row in tables
 * @property {(changes: UrlState) => void} onChange
 * @property {((layer: number) => void) | undefined} onVisit show another attention of the trace
 */

/** @typedef {{ step: Step, number: number, isHalf?: boolean }} CardProps */

/** @param {{ number: number, title: string, formula?: VNode | null, text: string, isHalf?: boolean, children?: ComponentChildren }} props */
export function StepCard({ number, title, formula, text, isHalf = false, children }) {
  const id = useId();
  return h(
    "section",
    { class: isHalf ? "card step is-half" : "card step", "aria-labelledby": id },
    h(
      "div",
      { class: "step-head" },
      h("span", { class: "step-number", "aria-hidden": "true" }, number),
      h("h2", { id, tabindex: -1 }, title),
      formula,
    ),
    h("p", { class: "step-text" }, withCode(text)),
    children,
  );
}

/** @param {{ detail: Detail }} step */
export function queryLabel({ detail }) {
  return tokenLabel(detail.query_label);
}

/** @param {{ detail: Detail, choice: StepChoice }} step */
export function keyLabel({ detail, choice }) {
  return tokenLabel(detail.key_labels[choice.key]);
}

/**
 * Whether the query is a decoder's state as it is: the attention of an RNN.
 * @param {Detail} detail
 */
export function isRecurrent({ x, query }) {
  return query !== undefined && x.length === query.length && x.every((value, index) => value === query[index]);
}
