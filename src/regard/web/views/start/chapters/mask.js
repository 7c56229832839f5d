// @ts-check
/** Why a mask: without it a model in training sees the word that it has to predict. */

import { heatmap } from "../../../charts/heatmap.js";
import { Segmented } from "../../../components/controls.js";
import { t } from "../../../core/i18n.js";
import { h } from "../../../core/ui.js";
import { EXAMPLE, exampleResults, IN_ORDER } from "../../../math/worked_example.js";
import figures from "../figures.json" with { type: "json" };
import { Figures, SizedChart, Verdict } from "../parts.js";

/** @import { Chapter, ResultProps } from "../chapter.js" */

const { masked, unmasked, digits } = figures.mask;

/** @type {Chapter} */
export const maskChapter = {
  id: "mask",
  title: "start.mask_title",
  idea: "start.mask_idea",
  question: "start.mask_question",
  answers: () => [
    ["lower", t("start.mask_lower")],
    ["same", t("start.mask_same")],
    ["higher", t("start.mask_higher")],
  ],
  Result,
  link: {
    text: "start.mask_link",
    state: { view: "inside", mode: "", causal: "1", query: "1", order: "", unmasked: "", step: "visibility" },
  },
};

/** @param {ResultProps} props */
function Result({ store, guess, setting, onSetting }) {
  const isMasked = setting !== "off";
  const right = unmasked.loss < masked.loss ? "lower" : unmasked.loss > masked.loss ? "higher" : "same";
  const percent = (/** @type {number} */ share) => `${Math.round(share * 100)}%`;
  const title = t("start.mask_map");
  const draw = (/** @type {number} */ width) => {
    const weights = Float32Array.from(exampleResults(IN_ORDER, isMasked).weights.flat());
    const hidden = isMasked ? (/** @type {number} */ row, /** @type {number} */ column) => column > row : undefined;
    return heatmap({ weights, rows: EXAMPLE.tokens, columns: EXAMPLE.tokens, title, most: 1, hidden }, { width });
  };
  return [
    h(
      Verdict,
      { store, guess, right, answers: maskChapter.answers() },
      t("start.mask_explained", { right: percent(unmasked.right), masked: percent(masked.right) }),
    ),
    h(
      "div",
      { class: "lesson-grid" },
      /** @type {const} */ ([
        ["start.mask_with", masked],
        ["start.mask_without", unmasked],
      ]).map(([name, { loss, right: digitsRight }]) =>
        h(
          "div",
          { key: name, class: "stack" },
          h("h2", null, t(name)),
          h(Figures, {
            items: [
              [t("start.mask_loss"), loss.toFixed(3), loss],
              [t("start.mask_right", { digits }), percent(digitsRight), digitsRight],
            ],
          }),
        ),
      ),
    ),
    h("p", { class: "faint small" }, t("start.measured_by", { command: "benchmarks/lesson_figures.py mask" })),
    h(
      "div",
      { class: "field" },
      t("start.mask_switch"),
      h(Segmented, {
        label: t("start.mask_switch"),
        options: [
          ["", t("start.mask_with")],
          ["off", t("start.mask_without")],
        ],
        value: isMasked ? "" : "off",
        onChange: onSetting,
      }),
    ),
    h(SizedChart, { title, deps: [isMasked], draw, most: 380 }),
  ];
}
