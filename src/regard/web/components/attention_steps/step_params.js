// @ts-check
/** What is written out in the steps, as parameters of the address (core/url.js). */

import { indexParam } from "../../core/url.js";
import { argmax } from "../../math/attention.js";

/** @import { ParamName, UrlState } from "../../core/url.js" */
/** @import { Detail } from "./step_card.js" */

/** Parameters that mean nothing for another query. */
export const QUERY_PARAMS = { key: "", token: "" };

/** @typedef {ReturnType<typeof stepChoice>} StepChoice */

/**
 * @param {UrlState} params
 * @param {Detail} detail
 */
export function stepChoice(params, detail) {
  const index = (/** @type {ParamName} */ name) => indexParam(params[name], Infinity) ?? 0;
  const letter = params.vector ?? "";
  const { length } = detail.key_labels;
  return {
    key: indexParam(params.key, length) ?? (detail.layer.name === "example" ? 0 : argmax(detail.weights)),
    showsAllKeys: params.keys === "all",
    vector: /** @type {"q" | "k" | "v"} */ (["q", "k", "v"].includes(letter) ? letter : "q"),
    number: index("number"),
    prepared: index("prepared"),
    context: index("context"),
    output: index("output"),
    token: indexParam(params.token, detail.prediction?.tokens.length ?? 0),
    isUnscaled: params.unscaled === "1" && isScaled(detail),
    isUnmasked: params.unmasked === "1" && isMasked(detail),
  };
}

/** @param {{ layer: { score: string } }} detail */
export function isScaled({ layer }) {
  return layer.score === "scaled_dot";
}

/** @param {{ visible: boolean[] }} detail */
export function isMasked({ visible }) {
  return visible.includes(false);
}
