/** One head's map, large and labelled, with what the head does in numbers. */

import { heatmap } from "../charts/heatmap.js";
import { Plot } from "../charts/plot.js";
import { readableNumber } from "../charts/scales.js";
import { tokenLinks } from "../charts/token_links.js";
import { t } from "../core/i18n.js";
import { useWidth } from "../core/query.js";
import { h, useMemo, useState } from "../core/ui.js";
import { darkestWeight, headStats } from "../math/head_stats.js";
import { wordMap } from "../math/maps.js";
import { readableToken } from "../math/tokens.js";
import { attentionText } from "./attention_names.js";
import { TokenSigns } from "./token_row.js";
import { EditableMap } from "./what_if/weight_editor.js";

/** @import { LinkedToken } from "../charts/token_links.js" */
/** @import { Store } from "../core/store.js" */
/** @import { AttentionLayer, AttentionMap, AttentionRole, Trace } from "../data/backend.js" */

const [NARROWEST, WIDEST] = [280, 640]; // pixels
const MOST_LINKED = 48; // tokens of a side between which lines can be followed
const NEIGHBOURS = /** @type {const} */ ({
  tokens: ["heads.neighbours", "heads.neighbours_past"],
  words: ["heads.neighbours_words", "heads.neighbours_past_words"],
});
const NOTABLE_END = 0.05; // share of the weight on the last token that is worth a sentence

/**
 * @param {object} props
 * @param {Store} props.store
 * @param {AttentionMap} props.map
 * @param {Pick<Trace, "source" | "target">} props.trace
 * @param {AttentionLayer | null} props.layer null: the rollout of all encoder layers
 * @param {number | null} props.head null: the mean of all
 * @param {string} props.title
 * @param {boolean} props.asWords tokens of a word are merged
 * @param {string} [props.text] how to read the map, where it does not show weights
 * @param {boolean} [props.isEditable] its numbers are weights that the reader may change
 */
export function HeadMap({ store, map, trace, layer, head, title, asWords, text, isEditable = true }) {
  const [box, width] = useWidth();
  const [active, setActive] = useState(/** @type {LinkedToken | null} */ (null));
  const role = layer?.role ?? "rollout";
  const sideOf = (/** @type {string | undefined} */ side) => trace[side === "target" ? "target" : "source"]; // the regions of an image are its source
  const [queries, keys] = [sideOf(layer?.queries), sideOf(layer?.keys)];
  const { chart, darkest, weights, columns, rows } = useMemo(() => {
    const rows = asWords ? queries.words : queries.pieces.map(readableToken);
    const columns = asWords ? keys.words : keys.pieces.map(readableToken);
    const weights = asWords ? wordMap(map.weights, map.columns, queries.word_pieces, keys.word_pieces) : map.weights;
    const most = darkestWeight(weights, columns.length);
    const isMasked = (/** @type {number} */ row, /** @type {number} */ column) =>
      column > row && weights[row * columns.length + column] === 0; // the reader may have switched the mask off
    const hidden = role === "decoder-self" ? isMasked : undefined;
    const size = { width: Math.max(NARROWEST, Math.min(WIDEST, width)) };
    const made = heatmap({ weights, rows, columns, title, most, hidden }, size);
    return { darkest: most, chart: made, weights, rows, columns };
  }, [map, trace, asWords, width, title]);
  const links = useMemo(() => {
    const isShort = Math.max(rows.length, columns.length) <= MOST_LINKED;
    const data = { weights, rows, columns, title: `${title} ${t("heads.lines")}`, active };
    return width > 0 && isShort ? tokenLinks(data, { width }) : null;
  }, [weights, rows, columns, title, active, width]);
  return h(
    "div",
    { ref: box, class: "stack" },
    h("p", { class: "explain" }, text ?? attentionText(role)),
    width > 0 &&
      h(EditableMap, {
        store,
        chart,
        address: isEditable && layer ? { role: layer.role, layer: layer.layer, head } : null,
        onCell: (cell) => setActive(cell && ["query", cell[0]]),
        cellOf: (row, column) => ({
          queries: asWords ? queries.word_pieces[row] : [row],
          keys: asWords ? keys.word_pieces[column] : [column],
          query: rows[row],
          key: columns[column],
          weight: weights[row * columns.length + column],
        }),
      }),
    links && h(Plot, { chart: links, onCell: setActive, hint: t("heads.lines_hint") }),
    !asWords && h(TokenSigns, { tokens: [...queries.pieces, ...keys.pieces], labelOf: readableToken }),
    darkest < 1 && h("p", { class: "faint" }, t("heads.darkest", { weight: readableNumber(darkest) })),
    h("p", { class: "habits" }, headText({ weights, rows: rows.length, columns: columns.length }, role, asWords)),
  );
}

/**
 * What a head does: how many tokens or words it attends to at once, and how much to itself, its neighbours and the end.
 * @param {{ weights: ArrayLike<number>, rows: number, columns: number }} map
 * @param {AttentionRole | "rollout"} role
 * @param {boolean} [asWords] the map is between words
 */
export function headText(map, role, asWords = false) {
  const isOfImage = role.startsWith("image");
  const isSelf = role !== "cross" && !isOfImage; // a region's neighbours are not those of its row in the map
  const stats = headStats(map.weights, map.rows, map.columns, isSelf);
  const percent = (/** @type {number} */ share) => `${Math.round(share * 100)}\u00a0%`;
  const texts = [
    t(isOfImage ? "heads.reach_places" : asWords ? "heads.reach_words" : "heads.reach", {
      count: readableNumber(stats.reach, 2),
    }),
  ];
  if (isSelf) {
    const shares = { same: percent(stats.same), previous: percent(stats.previous), next: percent(stats.next) };
    const [all, past] = asWords ? NEIGHBOURS.words : NEIGHBOURS.tokens;
    texts.push(t(role === "decoder-self" ? past : all, shares));
  }
  const canEnd = role === "cross" || role === "encoder-self";
  if (canEnd && stats.end >= NOTABLE_END) texts.push(t("heads.end", { end: percent(stats.end) }));
  return texts.join(" ");
}
