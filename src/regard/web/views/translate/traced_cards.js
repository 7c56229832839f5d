/** A traced translation: its words with ribbons, one word in detail, and the alignment as a map. */

import { heatmap } from "../../charts/heatmap.js";
import { SaveButtons } from "../../charts/plot.js";
import { ribbons } from "../../charts/ribbons.js";
import { Card } from "../../components/layout.js";
import { EditableMap } from "../../components/what_if/weight_editor.js";
import { t } from "../../core/i18n.js";
import { useQuery, useWidth } from "../../core/query.js";
import { paramsOf } from "../../core/store.js";
import { h, useMemo, useState } from "../../core/ui.js";
import { formatSelection } from "../../data/head_alignment.js";
import { drawnLinks, meanProbability, wordProbability } from "../../math/alignment.js";
import { realWords } from "../../math/tokens.js";
import { BestButtons, HeadControls } from "./head_controls.js";
import { PARAMS } from "./use_translation.js";
import { describeWord, WordDetail } from "./word_detail.js";
import { formatWord, parseWord, useWordLayout, WordRows } from "./word_rows.js";

/** @import { WordAlignment } from "../../data/backend.js" */
/** @import { HeadSelection } from "../../data/head_alignment.js" */
/** @import { Cell } from "../../charts/cell_cursor.js" */
/** @import { Link, WordPlace } from "../../math/alignment.js" */
/** @import { Store } from "../../core/store.js" */
/** @import { TracedTranslation, TranslationState } from "./use_translation.js" */
/** @typedef {TranslationState & { traced: TracedTranslation }} TracedState */
/** @typedef {(word: WordPlace | null) => void} WordHandler */

const WIDEST_MAP = 620; // pixels
const UNSURE = 0.5; // a less probable word is marked
const MOST_UNSURE = 3; // words that are named

/**
 * @param {{ store: Store, kind: string, state: TracedState, onTarget: (target: string) => void }} props
 */
export function TracedCards({ store, kind, state, onTarget }) {
  const { trace, alignment } = state.traced;
  const [hovered, setHovered] = useState(/** @type {WordPlace | null} */ (null));
  const [last, setLast] = useState(/** @type {WordPlace | null} */ (null)); // its detail stays readable
  const hover = (/** @type {WordPlace | null} */ word) => {
    setHovered(word);
    if (word) setLast(word);
  };
  const gold = state.example?.target === trace.text ? (state.example.links ?? null) : null; // links of the reference alone
  return [
    h(WordsCard, { key: `words ${trace.text}`, store, kind, state, gold, hovered, last, onHover: hover, onTarget }),
    alignment && h(AlignmentCard, { key: "alignment", store, state, alignment, gold, onHover: hover }),
  ];
}

/**
 * @param {object} props
 * @param {Store} props.store
 * @param {string} props.kind
 * @param {TracedState} props.state
 * @param {Link[] | null} props.gold
 * @param {WordPlace | null} props.hovered
 * @param {WordPlace | null} props.last
 * @param {WordHandler} props.onHover
 * @param {(target: string) => void} props.onTarget
 */
function WordsCard({ store, kind, state, gold, hovered, last, onHover, onTarget }) {
  const { trace, alignment } = state.traced;
  const source = realWords(trace.source).map(({ text }) => text);
  const target = realWords(trace.target).map(({ text }) => text);
  const pinned = parseWord(paramsOf(store, PARAMS).pinned, { source, target });
  const existing = (/** @type {WordPlace | null} */ word) =>
    word && word.index < (word.side === "source" ? source : target).length ? word : null; // the output may be another one
  const active = existing(hovered) ?? pinned;
  const [refs, layout] = useWordLayout(source, target);
  const title = `${store.text.value} ${t("translate.words")}`;
  const links = alignment ? drawnLinks(alignment) : [];
  const chart = ribbons({ title, source, target, weights: alignment?.weights ?? null, links, gold, active }, layout);
  const probabilities = realWords(trace.target).map(({ pieces }) => wordProbability(trace.log_probabilities, pieces));
  const hasShares = kind === "transformer" && !store.data.isEmbedded;
  const shares = useQuery(
    hasShares && (active || last) !== null && ((signal) => store.data.contributions(trace.id, { signal })),
    [trace.id, hasShares && (active || last) !== null],
  );
  const announce = (/** @type {WordPlace} */ word) => {
    if (alignment) store.announcement.value = describeWord(alignment, word);
  };
  return h(
    Card,
    { title: t("translate.words"), beside: h(SaveButtons, { chart }) },
    !trace.layers.length && h("p", { class: "explain nothing" }, t("translate.nothing", { kind })),
    h(WordRows, {
      refs,
      chart,
      source,
      target,
      active,
      pinned,
      unsure: new Set(probabilities.flatMap((probability, index) => (probability < UNSURE ? [index] : []))),
      onHover,
      onFocus: announce,
      onPin: (word) => store.set({ pinned: formatWord(word) }),
    }),
    h(Confidence, { trace, words: target, probabilities }),
    !store.data.isEmbedded && h(ReferenceSwitch, { store, state, gold, onTarget }),
    alignment &&
      h(
        "div",
        { class: "detail-place" },
        h(WordDetail, {
          trace,
          alignment,
          word: active ?? existing(last),
          shares: shares.data,
          onArithmetic: (word) => openInside(store, state, word),
        }),
      ),
  );
}

/**
 * How probable the output is to the model, and the words that it is least sure of.
 * @param {{ trace: TracedTranslation["trace"], words: string[], probabilities: number[] }} props
 */
function Confidence({ trace, words, probabilities }) {
  const percent = (/** @type {number} */ share) => (100 * share).toFixed(0);
  const unsure = words
    .map((word, index) => ({ word, probability: probabilities[index] }))
    .filter(({ probability }) => probability < UNSURE)
    .sort((first, second) => first.probability - second.probability)
    .slice(0, MOST_UNSURE)
    .map(({ word, probability }) => t("translate.word_percent", { word, percent: percent(probability) }));
  return h(
    "p",
    { class: "faint small confidence" },
    t("translate.confidence", { percent: percent(meanProbability(trace.log_probabilities)) }),
    unsure.length > 0 && [" ", h("b", null, t("translate.unsure", { words: unsure.join(", ") }))],
  );
}

/** @param {{ store: Store, state: TracedState, gold: Link[] | null, onTarget: (target: string) => void }} props */
function ReferenceSwitch({ store, state: { example, traced }, gold, onTarget }) {
  const reference = example?.target;
  if (!reference) return null;
  const isForced = paramsOf(store, PARAMS).target === reference;
  const force = (/** @type {Event} */ event) =>
    onTarget(/** @type {HTMLInputElement} */ (event.target).checked ? reference : "");
  const note = gold
    ? t("translate.gold_shown")
    : traced.trace.text === reference
      ? ""
      : t("translate.reference", { text: reference });
  return h(
    "div",
    { class: "reference" },
    h(
      "label",
      { class: "check" },
      h("input", { type: "checkbox", checked: isForced, onChange: force }),
      t("translate.force"),
    ),
    h("span", { class: "faint small" }, note),
  );
}

/**
 * @param {object} props
 * @param {Store} props.store
 * @param {TracedState} props.state
 * @param {WordAlignment} props.alignment
 * @param {Link[] | null} props.gold
 * @param {WordHandler} props.onHover
 */
function AlignmentCard({ store, state, alignment, gold, onHover }) {
  const { cross } = state.traced;
  const [ref, width] = useWidth();
  const select = (/** @type {HeadSelection} */ selection) => store.set({ align: formatSelection(selection) });
  const title = `${store.text.value} ${t("translate.alignment")}`;
  const chart = useMemo(() => {
    const { source_words: columns, target_words: rows, weights } = alignment;
    const data = {
      weights: Float32Array.from(weights.flat()),
      rows,
      columns,
      links: drawnLinks(alignment),
      gold,
      title,
    };
    return width > 0 ? heatmap(data, { width: Math.min(WIDEST_MAP, width) }) : null;
  }, [alignment, gold, title, width]);
  return h(
    Card,
    {
      title: t("translate.alignment"),
      beside: h(BestButtons, { scored: state.scored, selection: state.selection, onChange: select }),
    },
    h(
      "div",
      { class: "stack" },
      h(HeadControls, {
        layers: cross.length,
        heads: cross[0].heads,
        selection: state.selection,
        onChange: select,
      }),
      h(
        "div",
        { ref, class: "map-place" },
        chart &&
          h(EditableMap, {
            store,
            chart,
            address: {
              role: "cross",
              layer: layerIndex(state),
              head: state.selection.head === "mean" ? null : state.selection.head,
            },
            cellOf: (row, column) => wordCell(state, row, column),
            onCell: (/** @type {Cell | null} */ cell) => onHover(cell && { side: "target", index: cell[0] }),
          }),
      ),
      h(
        "p",
        { class: "faint small" },
        t("translate.map_legend"),
        gold && [" ", h("span", { class: "gold-key" }, t("translate.gold_key"))],
      ),
      h(HowToRead, null),
    ),
  );
}

/**
 * The layer of the selection, counted among the model's cross-attentions; null: all of them.
 * @param {TracedState} state
 */
function layerIndex({ traced: { cross }, selection }) {
  return selection.layer === "mean" ? null : cross[selection.layer].layer;
}

/**
 * A cell between two words as the rows and columns of their tokens. The row before a token outputs it.
 * @param {TracedState} state
 * @param {number} row
 * @param {number} column
 */
function wordCell({ traced: { trace, alignment }, selection }, row, column) {
  const [target, source] = [realWords(trace.target)[row], realWords(trace.source)[column]];
  if (!target || !source || !alignment) return null;
  const shift = selection.at === "input" ? 0 : -1;
  return {
    queries: target.pieces.map((piece) => piece + shift),
    keys: source.pieces,
    query: target.text,
    key: source.text,
    weight: alignment.weights[row][column],
  };
}

function HowToRead() {
  return h(
    "details",
    { class: "explain" },
    h("summary", null, t("translate.how")),
    h("p", null, t("translate.how_rows")),
    h("p", null, t("translate.how_at")),
    h("p", null, t("translate.how_rest")),
  );
}

/**
 * Inside with the chosen attention at the word's first token. The row before a token outputs it; at its own row it is the input.
 * @param {Store} store
 * @param {TracedState} state
 * @param {number} word
 */
function openInside(store, { traced: { trace, cross }, selection }, word) {
  const token = realWords(trace.target)[word].pieces[0];
  const layer = cross[selection.layer === "mean" ? cross.length - 1 : selection.layer];
  store.set({
    view: "inside",
    mode: "own",
    layer: String(trace.layers.indexOf(layer)),
    head: String(selection.head === "mean" ? 0 : selection.head),
    query: String(selection.at === "input" ? token : token - 1),
  });
}
