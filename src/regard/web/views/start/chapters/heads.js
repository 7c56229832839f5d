// @ts-check
/** Why many heads: eight small heads against one large head of equal size, and what the heads of a trained layer attend to. */

import { headName } from "../../../components/attention_names.js";
import { Loading, Problem } from "../../../components/placeholders.js";
import { TokenRow } from "../../../components/token_row.js";
import { t } from "../../../core/i18n.js";
import { useQuery } from "../../../core/query.js";
import { h } from "../../../core/ui.js";
import { indexParam } from "../../../core/url.js";
import { argmax } from "../../../math/attention.js";
import { wordMap } from "../../../math/maps.js";
import { realWords } from "../../../math/tokens.js";
import figures from "../figures.json" with { type: "json" };
import { Figures, NeedsModel, readyModel, Verdict } from "../parts.js";

/** @import { Store } from "../../../core/store.js" */
/** @import { Chapter, ResultProps } from "../chapter.js" */

const [ONE, EIGHT] = [figures.heads["1"], figures.heads["8"]];
const MODEL = "en-fr";
const SENTENCE = "My brother bought a red car yesterday.";
const FIRST_WORD = 4; // red

/** @type {Chapter} */
export const headsChapter = {
  id: "heads",
  title: "start.heads_title",
  idea: "start.heads_idea",
  question: "start.heads_question",
  answers: () => [
    ["one", t("start.heads_one_wins")],
    ["equal", t("start.heads_equal")],
    ["eight", t("start.heads_eight_wins")],
  ],
  Result,
  link: { text: "start.heads_link", state: { view: "heads", model: MODEL, text: SENTENCE, role: "encoder-self" } },
};

/** @param {ResultProps} props */
function Result({ store, guess, setting, onSetting }) {
  const percent = (/** @type {number} */ share) => `${Math.round(share * 100)}%`;
  const difference = EIGHT.right - ONE.right;
  const right = Math.abs(difference) < 0.03 ? "equal" : difference > 0 ? "eight" : "one";
  return [
    h(
      Verdict,
      { store, guess, right, answers: headsChapter.answers() },
      t("start.heads_explained", {
        one: percent(ONE.right),
        low: percent(Math.min(...ONE.seeds)),
        high: percent(Math.max(...ONE.seeds)),
        eight: percent(EIGHT.right),
      }),
    ),
    h(Figures, {
      items: [
        [t("start.heads_one"), percent(ONE.right), ONE.right],
        [t("start.heads_eight"), percent(EIGHT.right), EIGHT.right],
        [
          t("start.heads_parameters"),
          ONE.parameters === EIGHT.parameters
            ? ONE.parameters.toLocaleString("en")
            : `${ONE.parameters} / ${EIGHT.parameters}`,
        ],
      ],
    }),
    h("p", { class: "faint small" }, t("start.measured_by", { command: "benchmarks/lesson_figures.py heads" })),
    h(TrainedHeads, {
      store,
      word: indexParam(setting, Infinity) ?? FIRST_WORD,
      onWord: (word) => onSetting(word === FIRST_WORD ? "" : String(word)),
    }),
  ];
}

/** @param {{ store: Store, word: number, onWord: (word: number) => void }} props */
function TrainedHeads({ store, word, onWord }) {
  const model = readyModel(store, MODEL);
  const query = useQuery(
    model &&
      (async (signal) => {
        const request = { model: MODEL, text: SENTENCE };
        return store.traces.withTrace(
          request,
          async (trace) => {
            const layer = trace.layers.findLastIndex(({ role }) => role === "encoder-self");
            const heads = Array.from({ length: trace.layers[layer].heads }, (_, head) => head);
            const maps = await Promise.all(
              heads.map((head) => store.data.weights(trace.id, { layer, head }, { signal })),
            );
            return { trace, maps, layer: trace.layers[layer].layer + 1 };
          },
          { signal },
        );
      }),
    [model?.name],
  );
  if (!model) return h(NeedsModel, { names: [MODEL] });
  if (query.error) return h(Problem, { error: query.error });
  if (!query.data) return h(Loading);
  const { trace, maps, layer } = query.data;
  const words = realWords(trace.source);
  const chosen = Math.min(word, words.length - 1);
  const rows = maps.map(({ weights, columns }) => {
    const map = wordMap(weights, columns, trace.source.word_pieces, trace.source.word_pieces);
    const size = trace.source.words.length;
    const row = [...map.slice(chosen * size, (chosen + 1) * size)];
    const best = argmax(row);
    return { target: trace.source.words[best], weight: row[best] };
  });
  return [
    h("p", null, t("start.heads_model", { model: MODEL, layer })),
    h(TokenRow, { label: t("start.heads_word"), tokens: words.map(({ text }) => text), chosen, onChoose: onWord }),
    h(
      "ol",
      { class: "head-list" },
      rows.map(({ target, weight }, head) =>
        h(
          "li",
          { key: head },
          h("span", { class: "faint" }, headName(head)),
          " ",
          h("b", { lang: "en" }, target),
          " ",
          h("span", { class: "number", "data-value": String(weight) }, weight.toFixed(2)),
        ),
      ),
    ),
  ];
}
