// @ts-check
/** Ticks, rules and labels along the two axes of a chart. Shared by pixel map and lines. */

import { h } from "../core/ui.js";
import { palette } from "./colour.js";

/** @typedef {{ left: number, right: number, top: number, bottom: number }} Frame */
/** @typedef {{ at: number, label: string | number }} Tick `at` in pixels */

/**
 * @param {Frame} frame
 * @param {Tick[]} ticks
 * @param {string} label
 * @param {boolean} dark
 */
export function xAxis({ left, right, bottom }, ticks, label, dark) {
  const { faint } = palette(dark);
  return [
    ticks.map(({ at, label: text }) =>
      h("text", { x: at, y: bottom + 17, "text-anchor": "middle", fill: faint }, text),
    ),
    h("text", { x: (left + right) / 2, y: bottom + 36, "text-anchor": "middle", fill: faint }, label),
  ];
}

/**
 * @param {Frame} frame
 * @param {Tick[]} ticks
 * @param {string} label
 * @param {boolean} dark
 * @param {boolean} [hasRules] lines across the chart
 */
export function yAxis({ left, right, top, bottom }, ticks, label, dark, hasRules = false) {
  const { faint, line } = palette(dark);
  const middle = (top + bottom) / 2;
  return [
    hasRules && ticks.map(({ at }) => h("path", { d: `M${left},${at}H${right}`, stroke: line })),
    ticks.map(({ at, label: text }) => h("text", { x: left - 7, y: at + 4, "text-anchor": "end", fill: faint }, text)),
    h("text", { x: 11, y: middle, transform: `rotate(-90 11 ${middle})`, "text-anchor": "middle", fill: faint }, label),
  ];
}
