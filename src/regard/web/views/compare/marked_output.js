/** An output with the words marked that differ from the reference. */

import { t } from "../../core/i18n.js";
import { h } from "../../core/ui.js";
import { markedWords } from "../../math/text_diff.js";

/**
 * An output; words that the reference does not have at that place are marked.
 * @param {{ text: string, reference: string }} props
 */
export function MarkedOutput({ text, reference }) {
  const words = markedWords(text, reference);
  const isSame = words.every(({ differs }) => !differs) && text.trim() === reference.trim();
  return [
    words.map(({ word, differs }) => [differs ? h("mark", null, word) : word, " "]),
    isSame && h("span", { class: "same", title: t("quality.same") }, "✓"),
  ];
}
