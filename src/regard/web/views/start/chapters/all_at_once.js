// @ts-check
/** All at once: how many steps have to follow each other, in an RNN and in a Transformer. */

import { Slider } from "../../../components/controls.js";
import { t } from "../../../core/i18n.js";
import { h } from "../../../core/ui.js";
import { numberParam } from "../../../core/url.js";
import { Verdict } from "../parts.js";

/** @import { Chapter, ResultProps } from "../chapter.js" */

const [LAYERS, WIDTH] = [4, 192]; // of the encoder
const [FIRST, LONGEST] = [40, 400]; // words

/** @type {Chapter} */
export const allAtOnceChapter = {
  id: "all-at-once",
  title: "start.parallel_title",
  idea: "start.parallel_idea",
  question: "start.parallel_question",
  answers: () => [
    ["40-40", t("start.parallel_same")],
    ["40-4", t("start.parallel_layers")],
    ["4-40", t("start.parallel_reverse")],
  ],
  Result,
  link: { text: "start.parallel_link", state: { view: "compare", model: "en-fr" } },
};

/** @param {ResultProps} props */
function Result({ store, guess, setting, onSetting }) {
  const length = Math.round(numberParam(setting, { min: 2, max: LONGEST, usual: FIRST }));
  const rows = /** @type {const} */ ([
    ["start.parallel_steps", length, LAYERS],
    ["start.parallel_path", length - 1, 1],
    ["start.parallel_products", length * WIDTH ** 2, length ** 2 * WIDTH],
  ]);
  const right = `${FIRST}-${LAYERS}`;
  const shown = Math.min(length, 60);
  const boxes = (/** @type {(word: number) => number} */ stepOf, /** @type {string} */ name) =>
    h(
      "div",
      { class: "step-boxes", role: "img", "aria-label": name },
      Array.from({ length: shown }, (_, word) => h("span", { key: word }, stepOf(word))),
      shown < length && h("span", null, "…"),
    );
  return [
    h(Verdict, { store, guess, right, answers: allAtOnceChapter.answers() }, t("start.parallel_explained")),
    h(Slider, {
      label: t("start.parallel_length"),
      min: 2,
      max: LONGEST,
      value: length,
      onChange: (value) => onSetting(value === FIRST ? "" : String(value)),
    }),
    h(
      "div",
      { class: "stack" },
      h("p", { class: "small" }, t("start.parallel_boxes")),
      h("b", null, "RNN"),
      boxes((word) => word + 1, t("start.parallel_boxes_rnn", { length })),
      h("b", null, t("start.parallel_transformer")),
      boxes(() => LAYERS, t("start.parallel_boxes_transformer", { layers: LAYERS })),
    ),
    h(
      "div",
      { class: "table-scroll", tabindex: 0, role: "group", "aria-label": t("start.parallel_table") },
      h(
        "table",
        { class: "numbers" },
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            h("td"),
            h("th", { scope: "col" }, "RNN"),
            h("th", { scope: "col" }, t("start.parallel_transformer")),
          ),
        ),
        h(
          "tbody",
          null,
          rows.map(([name, recurrent, parallel]) =>
            h(
              "tr",
              { key: name },
              h("th", { scope: "row" }, t(name)),
              h("td", { "data-value": String(recurrent) }, recurrent.toLocaleString("en")),
              h("td", { "data-value": String(parallel) }, parallel.toLocaleString("en")),
            ),
          ),
        ),
      ),
    ),
    h("p", { class: "faint small" }, t("start.parallel_note", { layers: LAYERS, width: WIDTH })),
  ];
}
