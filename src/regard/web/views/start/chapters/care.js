// @ts-check
/** Reading attention with care: does the head that attends most to a word matter for the output? */

import { Loading, Problem } from "../../../components/placeholders.js";
import { t } from "../../../core/i18n.js";
import { useQuery } from "../../../core/query.js";
import { h } from "../../../core/ui.js";
import { headIntervention } from "../../../math/intervention_syntax.js";
import { tokenLabel } from "../../../math/tokens.js";
import { Figures, NeedsModel, Outputs, readyModel, useTranslation, Verdict } from "../parts.js";

/** @import { Store } from "../../../core/store.js" */
/** @import { Chapter, ChapterProps, ResultProps } from "../chapter.js" */
/** @typedef {{ layer: number, head: number, weight: number, key: string, change: number }} HeadRow change: of the token's log-probability without the head */

const MODEL = "en-fr";
const SENTENCE = "Where is the train station?";
const WORD = "4"; // the token of its translation that the chapter is about: gare
const LESS = -0.02; // of a log-probability: 2 % less probable
const ROWS = 6;

/** @type {Chapter} */
export const careChapter = {
  id: "care",
  title: "start.care_title",
  idea: "start.care_idea",
  question: "start.care_question",
  answers: () => [
    ["changes", t("start.care_changes")],
    ["less", t("start.care_less")],
    ["nothing", t("start.care_nothing")],
  ],
  Setup,
  Result,
  link: {
    text: "start.care_link",
    state: { view: "translate", model: MODEL, text: SENTENCE, what_if: "1", predict: WORD, needs: "1" },
  },
};

/** @param {ChapterProps} props */
function Setup({ store }) {
  const translation = useTranslation(store, readyModel(store, MODEL), SENTENCE);
  return [
    h("p", { class: "sample", lang: "en" }, SENTENCE),
    translation.data && h("p", { class: "sample", lang: "fr" }, translation.data),
  ];
}

/** @param {ResultProps} props */
function Result({ store, guess }) {
  const model = readyModel(store, MODEL);
  const query = useHeads(store, Boolean(model));
  const best = query.data ? query.data.rows[0] : null;
  const address = best && headIntervention({ role: "cross", layer: best.layer, head: best.head }, "zero");
  const before = useTranslation(store, model, SENTENCE);
  const after = useTranslation(store, address ? model : null, SENTENCE, address ? [address] : []);
  if (!model) return [h("p", null, t("start.care_explained")), h(NeedsModel, { names: [MODEL] })];
  if (query.error) return h(Problem, { error: query.error });
  if (!query.data || !best || after.data === null || before.data === null) return h(Loading);
  const right = after.data !== before.data ? "changes" : best.change < LESS ? "less" : "nothing";
  const needed = query.data.rows.reduce((most, row) => (row.change < most.change ? row : most));
  const pair = disordered(query.data.rows.slice(0, ROWS));
  const name = (/** @type {HeadRow} */ { layer, head }) => t("start.care_head", { layer: layer + 1, head: head + 1 });
  return [
    h(
      Verdict,
      { store, guess, right, answers: careChapter.answers() },
      t("start.care_explained"),
      " ",
      needed === best
        ? [
            t("start.care_same"),
            pair && " ",
            pair &&
              t("start.care_pair", {
                first: name(pair[0]),
                first_weight: pair[0].weight.toFixed(2),
                first_change: Math.exp(pair[0].change).toFixed(2),
                second: name(pair[1]),
                second_weight: pair[1].weight.toFixed(2),
                second_change: Math.exp(pair[1].change).toFixed(2),
              }),
          ]
        : t("start.care_other", { head: name(needed), weight: needed.weight.toFixed(2), best: best.weight.toFixed(2) }),
    ),
    h(Figures, {
      items: [
        [t("start.care_brightest", { token: query.data.token }), name(best), best.weight],
        [t("start.care_its_weight", { key: best.key }), best.weight.toFixed(2), best.weight],
        [t("start.care_its_change"), changeText(best.change), best.change],
        [t("start.care_needed"), `${name(needed)} (${changeText(needed.change)})`, needed.change],
      ],
    }),
    h(Outputs, {
      rows: [
        { name: t("start.unchanged"), query: before },
        { name: t("start.care_without", { head: name(best) }), query: after },
      ],
    }),
    h(HeadRows, { rows: query.data.rows.slice(0, ROWS), name }),
  ];
}

/**
 * The two heads whose importance differs most from the order of their weights: the first has the larger weight and matters less.
 * @param {HeadRow[]} rows by weight, the largest first
 * @returns {[HeadRow, HeadRow] | null}
 */
function disordered(rows) {
  const pairs = rows.flatMap((first, at) =>
    rows.slice(at + 1).map((second) => /** @type {[HeadRow, HeadRow]} */ ([first, second])),
  );
  const gap = (/** @type {[HeadRow, HeadRow]} */ [first, second]) => first.change - second.change;
  const [widest] = pairs.sort((a, b) => gap(b) - gap(a));
  return widest && gap(widest) > -LESS ? widest : null;
}

/** @param {number} change of a log-probability */
function changeText(change) {
  return `×\u00a0${Math.exp(change).toFixed(2)}`;
}

/** @param {{ rows: HeadRow[], name: (row: HeadRow) => string }} props */
function HeadRows({ rows, name }) {
  const title = t("start.care_table", { count: rows.length });
  return h(
    "div",
    { class: "table-scroll", tabindex: 0, role: "group", "aria-label": title },
    h(
      "table",
      { class: "numbers" },
      h("caption", null, h("b", null, title)),
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          h("th", { scope: "col" }, t("start.care_column_head")),
          h("th", { scope: "col" }, t("start.care_column_key")),
          h("th", { scope: "col" }, t("start.weight")),
          h("th", { scope: "col" }, t("start.care_column_change")),
        ),
      ),
      h(
        "tbody",
        null,
        rows.map((row) =>
          h(
            "tr",
            { key: name(row) },
            h("th", { scope: "row" }, name(row)),
            h("td", null, row.key),
            h("td", null, row.weight.toFixed(2)),
            h("td", null, changeText(row.change)),
          ),
        ),
      ),
    ),
  );
}

/**
 * Every head between target and source at the last word of the output: its largest weight, and what the word loses without it.
 * @param {Store} store
 * @param {boolean} isReady
 */
function useHeads(store, isReady) {
  return useQuery(
    isReady &&
      ((signal) =>
        store.traces.withTrace(
          { model: MODEL, text: SENTENCE },
          async (trace) => {
            const { pieces, word_pieces } = trace.target;
            const words = word_pieces.filter(
              ([first]) => /\p{L}/u.test(tokenLabel(pieces[first])) && !/^</u.test(pieces[first]),
            );
            const token = words[words.length - 1][0];
            const query = token - 1; // the row that predicts it
            const { layers } = await store.data.headImportance(trace.id, query, { signal });
            const cross = trace.layers.flatMap((layer, index) => (layer.role === "cross" ? [{ ...layer, index }] : []));
            const rows = await Promise.all(
              cross.flatMap(({ index, layer, heads }) =>
                Array.from({ length: heads }, async (_, head) => {
                  const map = await store.data.weights(trace.id, { layer: index, head }, { signal });
                  const row = [...map.weights.slice(query * map.columns, (query + 1) * map.columns)];
                  const weight = Math.max(...row);
                  const change =
                    layers.find((each) => each.role === "cross" && each.layer === layer)?.changes[head] ?? 0;
                  return { layer, head, weight, key: tokenLabel(trace.source.pieces[row.indexOf(weight)]), change };
                }),
              ),
            );
            return { token: tokenLabel(pieces[token]), rows: rows.sort((a, b) => b.weight - a.weight) };
          },
          { signal },
        )),
    [isReady],
  );
}
