/** Which attention is shown: a layer and a head or the mean of them, and the position at which it is read. */

import { headOptions } from "../../components/attention_names.js";
import { Segmented, Select } from "../../components/controls.js";
import { t } from "../../core/i18n.js";
import { h } from "../../core/ui.js";
import { isSameSelection } from "../../data/head_alignment.js";

/** @import { HeadSelection, ScoredSelection } from "../../data/head_alignment.js" */

/**
 * @param {object} props
 * @param {number} props.layers
 * @param {number} props.heads
 * @param {HeadSelection} props.selection
 * @param {(selection: HeadSelection) => void} props.onChange
 */
export function HeadControls({ layers, heads, selection, onChange }) {
  const choose = (/** @type {Partial<HeadSelection>} */ changes) => onChange({ ...selection, ...changes });
  return h(
    "div",
    { class: "controls reading", role: "group", "aria-label": t("translate.selection") },
    h(Select, {
      label: t("translate.layer"),
      options: [
        ["mean", t("translate.mean_layer")],
        ...Array.from({ length: layers }, (_, index) => layerOption(index)),
      ],
      value: String(selection.layer),
      onChange: (layer) => choose({ layer: numberOrMean(layer) }),
    }),
    h(Select, {
      label: t("translate.head"),
      options: headOptions(heads),
      value: String(selection.head),
      onChange: (head) => choose({ head: numberOrMean(head) }),
    }),
    h(
      "div",
      { class: "field" },
      t("translate.at"),
      h(Segmented, {
        label: t("translate.at"),
        options: [
          ["output", t("translate.at_output")],
          ["input", t("translate.at_input")],
        ],
        value: selection.at,
        onChange: (/** @type {HeadSelection["at"]} */ at) => choose({ at }),
      }),
    ),
  );
}

/**
 * The selection that aligns words best, and the best single head where that is another one.
 * @param {{ scored: ScoredSelection[], selection: HeadSelection, onChange: (selection: HeadSelection) => void }} props
 */
export function BestButtons({ scored, selection, onChange }) {
  const best = scored[0];
  const bestHead = scored.find(({ head }) => head !== "mean");
  return h(
    "div",
    { class: "controls" },
    best && h(BestButton, { label: t("translate.best"), best, selection, onChange }),
    bestHead &&
      bestHead !== best &&
      h(BestButton, { label: t("translate.best_head"), best: bestHead, selection, onChange }),
  );
}

/** @param {{ label: string, best: ScoredSelection, selection: HeadSelection, onChange: (selection: HeadSelection) => void }} props */
function BestButton({ label, best, selection, onChange }) {
  const { layer, head, at, error } = best;
  const attributes = {
    type: "button",
    class: "best-head",
    "aria-pressed": isSameSelection(best, selection),
    title: t("translate.best_long"),
  };
  const number = h("span", { class: "number" }, `AER ${error.toFixed(2)}`);
  return h("button", { ...attributes, onClick: () => onChange({ layer, head, at }) }, label, " ", number);
}

/**
 * @param {number} index
 * @returns {[value: string, label: string]}
 */
function layerOption(index) {
  return [String(index), t("heads.layer", { layer: index + 1 })];
}

/** @param {string} value */
function numberOrMean(value) {
  return value === "mean" ? value : Number(value);
}
