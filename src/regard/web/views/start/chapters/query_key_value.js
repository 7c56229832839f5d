// @ts-check
/** Query, key, value: the worked example "AI가 세상을 바꾼다", from the query to the new vector of the word. */

import { MatrixTable } from "../../../components/number_table.js";
import { TokenRow } from "../../../components/token_row.js";
import { t } from "../../../core/i18n.js";
import { h } from "../../../core/ui.js";
import { indexParam } from "../../../core/url.js";
import { argmax, attend } from "../../../math/attention.js";
import { EXAMPLE, exampleDetail } from "../../../math/worked_example.js";
import { ScoreTable, Verdict } from "../parts.js";

/** @import { Chapter, ResultProps } from "../chapter.js" */

/** @type {Chapter} */
export const queryKeyValueChapter = {
  id: "query-key-value",
  title: "start.qkv_title",
  idea: "start.qkv_idea",
  question: "start.qkv_question",
  answers: () => EXAMPLE.tokens.map((token, index) => [String(index), token]),
  Setup,
  Result,
  link: { text: "start.qkv_link", state: { view: "inside", mode: "", query: "0", order: "", causal: "" } },
};

function Setup() {
  const { query, keys } = attend(exampleDetail(0, false));
  return [
    h("p", { class: "sample", lang: "ko" }, h("b", null, "AI"), "가 세상을 바꾼다"),
    h("p", null, t("start.qkv_setup")),
    h(
      "div",
      { class: "lesson-grid" },
      h(MatrixTable, { rows: [query], caption: `q (${EXAMPLE.tokens[0]})` }),
      h(MatrixTable, { rows: keys, caption: "K", rowLabels: EXAMPLE.tokens }),
    ),
  ];
}

/** @param {ResultProps} props */
function Result({ store, guess, setting, onSetting }) {
  const query = indexParam(setting, EXAMPLE.tokens.length) ?? 0;
  const work = attend(exampleDetail(query, false));
  const { tokens } = EXAMPLE;
  const right = String(argmax(attend(exampleDetail(0, false)).weights));
  const meanings = [t("start.qkv_meaning_ai"), t("start.qkv_meaning_world"), t("start.qkv_meaning_change")];
  return [
    h(Verdict, { store, guess, right, answers: queryKeyValueChapter.answers() }, t("start.qkv_explained")),
    h(TokenRow, {
      label: t("start.qkv_query"),
      tokens,
      chosen: query,
      onChoose: (/** @type {number} */ index) => onSetting(index ? String(index) : ""),
    }),
    h(
      "ol",
      { class: "lesson-steps" },
      h("li", null, t("start.qkv_step_query"), h(MatrixTable, { rows: [work.query], caption: `q (${tokens[query]})` })),
      h(
        "li",
        null,
        t("start.qkv_step_keys", { token: tokens[query] }),
        h(MatrixTable, { rows: work.keys, caption: "K", rowLabels: tokens }),
      ),
      h(
        "li",
        null,
        t("start.qkv_step_weights"),
        h(ScoreTable, { title: t("start.qkv_scores"), words: tokens, scores: work.scores, weights: work.weights }),
      ),
      h(
        "li",
        null,
        t("start.qkv_step_values"),
        h(MatrixTable, { rows: work.values, caption: "V", rowLabels: tokens, columnLabels: meanings }),
      ),
      h(
        "li",
        null,
        t("start.qkv_step_output", { token: tokens[query] }),
        h(MatrixTable, {
          rows: [work.context],
          caption: t("start.qkv_output", { token: tokens[query] }),
          columnLabels: meanings,
        }),
      ),
    ),
  ];
}
