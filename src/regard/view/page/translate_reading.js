/** Which map is read: layer, head, the mean of them, or the head that aligns best; tokens as they are said or as they are read. */

import { clear, h } from "./make.js";
import { dropDown, segments } from "./notes.js";
import { t } from "./text.js";

/** Controls as {node, update({layers, heads, readings, reading})}; `onReading({layer, head, when})` tells of a choice. */
export function readingControls({ reading, onReading }) {
  const state = { layers: 0, heads: 0, readings: null, reading };
  const node = h("div", { class: "controls reading", role: "group", "aria-label": t("translate.reading") });
  const choose = (changes) => {
    state.reading = { ...state.reading, ...changes };
    build();
    onReading(state.reading);
  };
  const build = () => keepFocus(node, () => clear(node, readingFields(state, choose)));
  build();
  return {
    node,
    update(changes) {
      Object.assign(state, changes);
      build();
    },
  };
}

/** The reading that errs least, as the controls have it; null where there is none. */
export function bestReading(readings) {
  return asReading(readings?.[0]);
}

/** The single head that errs least. */
function bestHead(readings) {
  return asReading(readings?.find(({ head }) => head !== null));
}

function asReading(told) {
  return told ? { layer: told.layer ?? "mean", head: told.head ?? "mean", when: told.when_read ? "read" : "said" } : null;
}

function isSame(one, other) {
  return ["layer", "head", "when"].every((name) => one[name] === other[name]);
}

function readingFields(state, choose) {
  const { layers, heads, reading } = state;
  const asNumber = (name) => (value) => choose({ [name]: value === "mean" ? "mean" : Number(value) });
  return [
    dropDown(t("translate.layer"), numberChoices("layer", layers), reading.layer, asNumber("layer")),
    dropDown(t("translate.head"), numberChoices("head", heads), reading.head, asNumber("head")),
    h(
      "div",
      { class: "field" },
      t("translate.when"),
      segments(
        t("translate.when"),
        ["said", "read"].map((when) => [when, t(`translate.${when}`)]),
        reading.when,
        (when) => choose({ when }),
      ),
    ),
    bestButton("best", bestReading(state.readings), state, choose),
    bestButton("best_head", bestHead(state.readings), state, choose),
  ];
}

function numberChoices(name, count) {
  const single = Array.from({ length: count }, (_, index) => [index, t(`translate.${name}_number`, { number: index + 1 })]);
  return [["mean", t(`translate.mean_${name}`)], ...single];
}

/** A button that takes the best of all readings, or the best single head; not shown twice where they are the same. */
function bestButton(name, best, { readings, reading }, choose) {
  if (!best || (name === "best_head" && isSame(best, bestReading(readings)))) return null;
  const { error } = readings.find((told) => isSame(asReading(told), best));
  const attributes = { type: "button", class: "best-head", "aria-pressed": String(isSame(best, reading)), title: t("translate.best_long") };
  return h(
    "button",
    { ...attributes, onclick: () => choose(best) },
    t(`translate.${name}`),
    " ",
    h("span", { class: "number" }, `AER ${error.toFixed(2)}`),
  );
}

/** The controls are built anew after a choice; the focus stays on the one that was used. */
function keepFocus(node, build) {
  const focusable = () => [...node.querySelectorAll("button, select")];
  const at = focusable().indexOf(document.activeElement);
  build();
  if (at >= 0) focusable()[at]?.focus();
}
