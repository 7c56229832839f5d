/** The words of a caption, each with its attention map over the image: region by region, and smoothed. */

import { wordPanel } from "../charts/image_maps.js";
import { h } from "../core/ui.js";

/** @import { ImageGrid } from "../charts/image_maps.js" */
/** @import { Box, WordMap } from "../math/image_attention.js" */

const SIDE = 116; // pixels

/** @param {{ image: string, label: string }} props */
export function SeenImage({ image, label }) {
  return h("img", { class: "picture-seen", src: image, alt: label, title: label, width: SIDE, height: SIDE });
}

/**
 * A word, its two maps and its largest weight.
 * @param {{ grid: ImageGrid, word: WordMap, boxes?: Box[], mark?: string }} props
 */
export function WordPanels({ grid, word, boxes = [], mark = "" }) {
  const size = { width: SIDE, height: SIDE, viewBox: `0 0 ${SIDE} ${SIDE}` };
  return [
    h("b", { dir: "auto" }, word.text),
    [false, true].map((isSmooth) =>
      h(
        "svg",
        { key: String(isSmooth), ...size, "aria-hidden": "true" },
        wordPanel(grid, word, { side: SIDE, isSmooth, boxes }),
      ),
    ),
    h("span", { class: "number faint", "aria-hidden": "true" }, word.peak.weight.toFixed(2), mark),
  ];
}
