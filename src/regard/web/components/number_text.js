// @ts-check
/** Numbers as text. */

import { h } from "../core/ui.js";

const DIGITS = 4;

/**
 * A number with four digits after the point, or a power of ten where that would hide it.
 * @param {number} value
 */
export function numberText(value) {
  if (value === -Infinity) return "−∞";
  const size = Math.abs(value);
  const text = size !== 0 && (size >= 1e6 || size < 5e-5) ? value.toExponential(2) : value.toFixed(DIGITS);
  return text.replaceAll("-", "−");
}

/**
 * A small number such as a difference, as a power of ten.
 * @param {number} value
 */
export function smallText(value) {
  return value === 0 ? "0" : value.toExponential(1).replaceAll("-", "−");
}

/**
 * A number; `data-value` has all of its digits.
 * @param {number} value
 */
export function numberSpan(value) {
  return h("span", { class: "number", "data-value": String(value) }, numberText(value));
}

/** @param {number} value */
export function shortText(value) {
  return String(Number(value.toFixed(DIGITS))).replaceAll("-", "−");
}
