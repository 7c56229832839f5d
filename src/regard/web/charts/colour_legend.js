/** The legend of a map: a strip that shows which colour is which number. */

import { isDark } from "../core/theme.js";
import { h } from "../core/ui.js";
import { divergingBytes, shadeBytes } from "./colour.js";
import { readableNumber } from "./scales.js";

const STOPS = 9; // of the gradient

/** @param {{ twoSided?: boolean, most?: number }} props */
export function ColourLegend({ twoSided = false, most = 1 }) {
  const dark = isDark.value;
  const colours = Array.from({ length: STOPS }, (_, stop) => {
    const share = stop / (STOPS - 1);
    return `rgb(${(twoSided ? divergingBytes(2 * share - 1, dark) : shadeBytes(share, dark)).join(" ")})`;
  });
  const style = { background: `linear-gradient(to right, ${colours.join(", ")})` };
  return h(
    "span",
    { class: "field-legend faint" },
    readableNumber(twoSided ? -most : 0),
    h("span", { class: "field-strip", style, "aria-hidden": "true" }),
    readableNumber(most),
  );
}
