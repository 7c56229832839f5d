/** Rotary positions shown with numbers: a query and a key are turned, and their product depends only on how far apart they are. */

import { clear, h } from "./make.js";
import { turned } from "./encodings.js";
import { slider } from "./notes.js";
import { t } from "./text.js";

const QUERY = [0.8, 0.6];
const KEY = [0.3, 0.9];
const ANGLE = 0.5; // in radians, for each position

/** The product of a query at one position and a key at another, each turned by its position. */
export function turnedProduct(queryPosition, keyPosition) {
  const query = turned(QUERY, queryPosition * ANGLE);
  const key = turned(KEY, keyPosition * ANGLE);
  return query[0] * key[0] + query[1] * key[1];
}

/** Two sliders: moving both positions together leaves the product as it is; moving them apart changes it. */
export function rotaryDemonstration() {
  const now = { start: 2, offset: 3 };
  const told = h("p", { class: "number rotary-number", "aria-live": "polite" });
  const show = (changed) => {
    Object.assign(now, changed);
    const key = now.start + now.offset;
    clear(told, t("rotary.product", { query: now.start, key, product: turnedProduct(now.start, key).toFixed(4) }));
  };
  const start = slider(t("rotary.start"), { least: 0, most: 50, value: now.start }, (value) => show({ start: value }));
  const offset = slider(t("rotary.offset"), { least: 0, most: 20, value: now.offset }, (value) => show({ offset: value }));
  show({});
  return h("div", { class: "stack rotary" }, h("div", { class: "controls" }, start.node, offset.node), told);
}
