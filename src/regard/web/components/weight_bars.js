/** Attention weights or probabilities of a few words as labelled bars. */

import { shade } from "../charts/colour.js";
import { isDark } from "../core/theme.js";
import { h } from "../core/ui.js";

/** @import { WordWeight } from "../math/alignment.js" */

/**
 * @param {{ weights: WordWeight[], format?: (weight: number) => string }} props
 */
export function WeightBars({ weights, format = (weight) => weight.toFixed(3) }) {
  const dark = isDark.value;
  const bar = (/** @type {WordWeight} */ { word, weight, isMark = false }, /** @type {number} */ index) => {
    const share = Math.min(1, Math.max(0, weight));
    const style = { width: `${Math.max(0.5, share * 100)}%`, "background-color": shade(0.25 + 0.7 * share, dark) };
    return h(
      "li",
      { key: index },
      h("span", { class: isMark ? "bar-word faint" : "bar-word", dir: isMark ? "ltr" : "auto" }, word),
      h("span", { class: "bar-track", "aria-hidden": "true" }, h("span", { class: "bar", style })),
      h("span", { class: "number" }, format(weight)),
    );
  };
  return h("ul", { class: "bars" }, weights.map(bar));
}
