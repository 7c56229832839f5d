/** The best outputs of the beam search; one of them is traced. */

import { Card } from "../../components/layout.js";
import { Problem } from "../../components/placeholders.js";
import { t } from "../../core/i18n.js";
import { h } from "../../core/ui.js";

/** @import { Output } from "../../data/backend.js" */

/**
 * @param {object} props
 * @param {Output[]} props.outputs
 * @param {Error | null} props.error
 * @param {string} props.chosen the text that is traced
 * @param {(target: string) => void} props.onChoose an empty text: the model's own translation
 */
export function OutputsCard({ outputs, error, chosen, onChoose }) {
  const row = (/** @type {Output} */ { text, score, log_probability }, /** @type {number} */ rank) => {
    const button = {
      type: "button",
      class: "output",
      "aria-pressed": text === chosen,
      onClick: () => onChoose(rank === 0 ? "" : text),
    };
    const title = t("translate.score_long", { log_probability: log_probability.toFixed(3) });
    return h(
      "li",
      { key: rank },
      h(
        "button",
        button,
        h("span", { class: "output-rank", "aria-hidden": "true" }, rank + 1),
        h("span", { class: "output-text", dir: "auto" }, text || "∅"),
        h("span", { class: "number", title }, score.toFixed(3)),
      ),
    );
  };
  return h(
    Card,
    { title: t("translate.outputs") },
    h(
      "div",
      { class: "stack" },
      h("p", { class: "faint small" }, t("translate.outputs_note")),
      error && h(Problem, { error }),
      outputs.length > 0 && h("ol", { class: "outputs" }, outputs.map(row)),
    ),
  );
}
