// @ts-check
/** Vectors as bars; where one of the numbers can be chosen, with a click or the arrow keys. */

import { dimensionByKey, stripSize, vectorBars } from "../charts/vector_bars.js";
import { t } from "../core/i18n.js";
import { isDark } from "../core/theme.js";
import { h, useMemo } from "../core/ui.js";
import { numberText } from "./number_text.js";

/** @typedef {{ values: number[], label: string, chosen?: number | null, onChoose?: (index: number) => void }} StripProps */

/** @param {StripProps} props */
export function VectorStrip({ values, label, chosen = null, onChoose }) {
  const dark = isDark.value;
  const bars = useMemo(() => vectorBars(values, chosen, dark), [values, chosen, dark]);
  const count = values.length;
  const name = t("inside.vector", { label, count });
  // a long vector's bars become narrow, not low
  const picture = { ...stripSize(count), preserveAspectRatio: "none", "aria-label": name };
  if (!onChoose) return h("svg", { class: "strip", role: "img", ...picture }, bars);
  const press = (/** @type {KeyboardEvent} */ event) => {
    const next = dimensionByKey(chosen ?? 0, count, event.key);
    if (next === undefined) return;
    event.preventDefault();
    onChoose(next);
  };
  const click = (/** @type {MouseEvent & { currentTarget: Element }} */ event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = Math.floor(((event.clientX - box.left) / box.width) * count);
    onChoose(Math.min(count - 1, Math.max(0, at)));
  };
  const slider = {
    role: "slider",
    tabindex: 0,
    "aria-valuemin": 1,
    "aria-valuemax": count,
    "aria-valuenow": (chosen ?? 0) + 1,
    "aria-valuetext": `${(chosen ?? 0) + 1}: ${numberText(values[chosen ?? 0])}`,
  };
  return h("svg", { class: "strip is-choosable", ...picture, ...slider, onClick: click, onKeyDown: press }, bars);
}

/** @typedef {Omit<StripProps, "label"> & { letter: string, token: string | number }} VectorProps */

/**
 * A list of vectors: each with its letter, its token and its bars.
 * @param {{ rows: (VectorProps | false | null | undefined)[] }} props
 */
export function VectorList({ rows }) {
  const shown = rows.filter((row) => Boolean(row));
  return h(
    "dl",
    { class: "vectors" },
    /** @type {VectorProps[]} */ (shown).map(({ letter, token, ...strip }, index) =>
      h(
        "div",
        { key: index, class: "vector-row" },
        h("dt", null, h("i", null, letter), h("span", { class: "of", dir: "auto" }, `(${token})`)),
        h("dd", null, h(VectorStrip, { ...strip, label: `${letter}(${token})` })),
      ),
    ),
  );
}
