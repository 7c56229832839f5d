/** Rotary positions with numbers: a query and a key are rotated, and their product depends only on how far apart they are. */

import { Slider } from "../../components/controls.js";
import { t } from "../../core/i18n.js";
import { h } from "../../core/ui.js";
import { rotated } from "../../math/positions.js";

/** @import { Store } from "../../core/store.js" */

const QUERY = /** @type {[number, number]} */ ([0.8, 0.6]);
const KEY = /** @type {[number, number]} */ ([0.3, 0.9]);
const ANGLE = 0.5; // in radians, for each position
const DEFAULT = [2, 3];

/**
 * The product of a query at one position and a key at another, each rotated by its position.
 * @param {number} queryPosition
 * @param {number} keyPosition
 */
function rotaryProduct(queryPosition, keyPosition) {
  const query = rotated(QUERY, queryPosition * ANGLE);
  const key = rotated(KEY, keyPosition * ANGLE);
  return query[0] * key[0] + query[1] * key[1];
}

/** @param {{ store: Store }} props */
export function RotaryDemo({ store }) {
  const match = /^(\d{1,2})\.(\d{1,2})$/.exec(store.url.value.rotary ?? "");
  const [start, offset] = match ? [Math.min(50, Number(match[1])), Math.min(20, Number(match[2]))] : DEFAULT;
  const set = (/** @type {number} */ first, /** @type {number} */ second) =>
    store.set({ rotary: `${first}.${second}` });
  const [key, product] = [start + offset, rotaryProduct(start, start + offset).toFixed(4)];
  return h(
    "div",
    { class: "stack rotary" },
    h(
      "div",
      { class: "controls" },
      h(Slider, { label: t("rotary.start"), min: 0, max: 50, value: start, onChange: (next) => set(next, offset) }),
      h(Slider, { label: t("rotary.offset"), min: 0, max: 20, value: offset, onChange: (next) => set(start, next) }),
    ),
    h(
      "p",
      { class: "number rotary-number", "aria-live": "polite" },
      t("rotary.product", { query: start, key, product }),
    ),
  );
}
