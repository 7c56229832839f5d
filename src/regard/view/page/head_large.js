/** One head's map, large and labelled, with what it does in words. */

import { h } from "./make.js";
import { darkestWeight } from "./head_thumbs.js";
import { heatmap } from "./heatmap.js";
import { headHabits } from "./habits.js";
import { readablePiece, signsNote } from "./pieces.js";
import { readableNumber } from "./scales.js";
import { wordMap } from "./shrinking.js";
import { t } from "./text.js";

/**
 * `map` {weights, rows, columns}, `sides` {rows: Side, columns: Side}, `use`, `title`; `asWords` puts pieces together.
 * Returns {node, stop()}.
 */
export function largeHead({ map, sides, use, title, asWords, width }) {
  const shown = asWords ? wordsOf(map, sides) : { ...map, rowLabels: sides.rows.pieces.map(readablePiece), columnLabels: sides.columns.pieces.map(readablePiece) };
  const most = darkestWeight({ weights: shown.weights, columns: shown.columnLabels.length });
  const picture = heatmap({
    weights: shown.weights, rows: shown.rowLabels, columns: shown.columnLabels, title, width, most,
    hidden: use === "decoder-self" ? (row, column) => column > row : undefined,
  });
  const node = h("div", { class: "stack" }, h("p", { class: "explain" }, t(`heads.use.${use}`)), picture.node,
    !asWords && signsNote([...sides.rows.pieces, ...sides.columns.pieces], ["‹›"]),
    most < 1 && h("p", { class: "faint" }, t("heads.darkest", { weight: readableNumber(most) })),
    h("p", { class: "habits" }, habitsText(map, use)));
  return { node, stop: () => picture.stop?.() };
}

function wordsOf(map, sides) {
  return {
    weights: wordMap(map.weights, map.columns, sides.rows.words, sides.columns.words),
    rowLabels: sides.rows.spelled,
    columnLabels: sides.columns.spelled,
  };
}

/** What the head does, in numbers: how many tokens at once, and how much on itself, its neighbours and the end. */
function habitsText(map, use) {
  const isOfPicture = use.startsWith("picture");
  const isSelf = use !== "cross" && !isOfPicture; // a place's neighbours are not those of its row in the map
  const habits = headHabits(map.weights, map.rows, map.columns, isSelf);
  const percent = (share) => `${Math.round(share * 100)}\u00a0%`;
  const told = [t(isOfPicture ? "heads.reachPlaces" : "heads.reach", { count: readableNumber(habits.reach, 2) })];
  if (isSelf) {
    const shares = { same: percent(habits.same), previous: percent(habits.previous), next: percent(habits.next) };
    told.push(t(use === "decoder-self" ? "heads.neighboursPast" : "heads.neighbours", shares));
  }
  if (habits.end >= 0.05 && (use === "cross" || use === "encoder-self")) told.push(t("heads.end", { end: percent(habits.end) }));
  return told.join(" ");
}
