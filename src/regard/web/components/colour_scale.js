// @ts-check
/** A strip that says which colour is which number. */

import { paintNumbers } from "../charts/field.js";
import { readableNumber } from "../charts/scales.js";
import { isDark } from "../core/theme.js";
import { h, useLayoutEffect, useRef } from "../core/ui.js";

/** @param {{ twoSided: boolean, most: number }} props */
export function ColourScale({ twoSided, most }) {
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const dark = isDark.value;
  useLayoutEffect(() => {
    const values = Array.from({ length: 64 }, (_, step) => (twoSided ? step / 31.5 - 1 : step / 63));
    paintNumbers(
      /** @type {HTMLCanvasElement} */ (canvas.current),
      { values, rows: 1, columns: 64, twoSided, most: 1 },
      dark,
    );
  }, [twoSided, dark]);
  return h(
    "span",
    { class: "field-legend faint" },
    readableNumber(twoSided ? -most : 0),
    h("canvas", { ref: canvas, class: "field-strip", "aria-hidden": "true" }),
    readableNumber(most),
  );
}
