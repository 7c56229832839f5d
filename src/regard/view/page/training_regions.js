/** A probe's picture as it is looked at while training goes on: each word of its caption over the places that it looks at. */

import { clear, h } from "./make.js";
import { regionSheet, seenPicture, wordMaps, wordPanels } from "./region_maps.js";
import { savingButtons } from "./saving.js";
import { t } from "./text.js";

/** The words of a caption, each over the picture or, where `picture` is null, over white. Returns {node, update(weights)}. */
export function regionStrip({ target, picture, weights, name, title }) {
  const side = Math.round(Math.sqrt(weights.length / target.pieces.length));
  const seen = { target, picture, rows: side, columns: side };
  const strip = h("div", { class: "region-words" });
  let words = [];
  const update = (now) => {
    words = wordMaps(seen, { weights: now });
    clear(strip, picture && seenPicture(picture, name), words.map((word) => lookingWord(seen, word)));
  };
  update(weights);
  return { node: h("div", { class: "stack" }, strip, savingButtons(() => regionSheet(seen, words, () => []), title)), update };
}

function lookingWord(seen, word) {
  const look = t("pictures.look", { peak: word.peak.weight.toFixed(2), row: word.peak.row + 1, column: word.peak.column + 1 });
  return h("div", { class: "region-word", role: "img", "aria-label": `${word.text}: ${look}` }, wordPanels(seen, word));
}
