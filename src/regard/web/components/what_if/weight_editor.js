/** A map whose weights can be changed: choose a cell, or drag it up and down. */

import { Plot } from "../../charts/plot.js";
import { t } from "../../core/i18n.js";
import { h, useEffect, useRef, useState } from "../../core/ui.js";
import { withWeight } from "../../math/intervention_syntax.js";
import { Slider } from "../controls.js";
import { changesOf, isOpen, setChanges } from "./experiment.js";

/** @import { Chart } from "../../charts/chart.js" */
/** @import { Cell } from "../../charts/cell_cursor.js" */
/** @import { Store } from "../../core/store.js" */
/** @import { HeadAddress } from "../../math/intervention_syntax.js" */
/**
 * A cell of a map between words may be several rows and columns of the map between tokens.
 * @typedef {{ queries: number[], keys: number[], query: string, key: string, weight: number }} EditedCell
 */

/**
 * A map as it is, or, while the reader experiments, one with an editor below it.
 * @param {object} props
 * @param {Store} props.store
 * @param {Chart<Cell>} props.chart
 * @param {HeadAddress | null} props.address the head or heads of the map; null: it cannot be edited
 * @param {(row: number, column: number) => EditedCell | null} props.cellOf
 * @param {(cell: Cell | null) => void} [props.onCell]
 */
export function EditableMap({ store, chart, address, cellOf, onCell }) {
  const [dragged, setDragged] = useState(/** @type {number | null} */ (null));
  const isByKeys = useRef(false);
  if (!address || store.data.isEmbedded || !isOpen(store)) return h(Plot, { chart, onCell });
  const chosen = chosenCell(store.url.value.cell, chart);
  const cell = chosen && cellOf(chosen[0], chosen[1]);
  const choose = (/** @type {Cell} */ [row, column], /** @type {boolean} */ byKeys) => {
    isByKeys.current = byKeys;
    store.set({ cell: `${row}.${column ?? 0}` });
  };
  const drag = (/** @type {Cell} */ at, /** @type {number} */ change, /** @type {boolean} */ isEnd) => {
    const edited = cellOf(at[0], at[1] ?? 0);
    if (!edited) return;
    const weight = nearestWeight(edited, edited.weight + change);
    if (String(at) !== String(chosen)) choose(at, false);
    setDragged(isEnd ? null : weight);
    if (isEnd) setWeight(store, address, edited, weight);
  };
  return [
    h("p", { key: "hint", class: "faint small" }, t("what_if.edit_hint")),
    h(Plot, { key: "map", chart, onCell, onSelect: choose, onDrag: drag, rest: chosen }),
    cell &&
      h(WeightEditor, {
        key: store.url.value.cell,
        store,
        address,
        cell,
        dragged,
        takesFocus: isByKeys.current,
      }),
  ];
}

/**
 * One weight: a slider where it is that of one key, and buttons for all and nothing.
 * @param {{ store: Store, address: HeadAddress, cell: EditedCell, dragged?: number | null, takesFocus?: boolean }} props
 */
export function WeightEditor({ store, address, cell, dragged = null, takesFocus = false }) {
  const [moved, setMoved] = useState(cell.weight);
  useEffect(() => setMoved(cell.weight), [cell.weight]);
  const slider = useRef(/** @type {HTMLInputElement | null} */ (null));
  const first = useRef(/** @type {HTMLButtonElement | null} */ (null));
  useEffect(() => {
    if (takesFocus) (slider.current ?? first.current)?.focus();
  }, [takesFocus]);
  const set = (/** @type {number | null} */ weight) => setWeight(store, address, cell, weight);
  const label = t("what_if.weight_of", { query: cell.query, key: cell.key });
  const button = (/** @type {string} */ text, /** @type {number | null} */ weight) =>
    h("button", { type: "button", ref: weight === 1 ? first : undefined, onClick: () => set(weight) }, text);
  return h(
    "div",
    { class: "controls weight-editor", role: "group", "aria-label": label },
    cell.keys.length === 1
      ? h(Slider, {
          label,
          min: 0,
          max: 1,
          step: 0.05,
          value: Number((dragged ?? moved).toFixed(2)),
          format: (value) => value.toFixed(2),
          onChange: setMoved,
          onCommit: set,
          inputRef: slider,
        })
      : h("span", { class: "faint small" }, label),
    button(t("what_if.weight_all"), 1),
    button(t("what_if.weight_none"), 0),
    button(t("what_if.weight_reset"), null),
  );
}

/**
 * @param {Store} store
 * @param {HeadAddress} address
 * @param {EditedCell} cell
 * @param {number | null} weight
 */
function setWeight(store, address, { queries, keys }, weight) {
  setChanges(store, withWeight(changesOf(store), address, queries, keys, weight));
}

/**
 * A weight that can be set: in steps, and for a word of several tokens all or nothing.
 * @param {EditedCell} cell
 * @param {number} weight
 */
function nearestWeight({ keys }, weight) {
  const within = Math.min(1, Math.max(0, weight));
  return keys.length > 1 ? Math.round(within) : Math.round(within * 20) / 20;
}

/**
 * @param {string | undefined} text "ROW.COLUMN"
 * @param {Chart<Cell>} chart
 * @returns {[row: number, column: number] | null}
 */
function chosenCell(text, chart) {
  const [, row, column] = /^(\d+)\.(\d+)$/.exec(text ?? "") ?? [];
  if (row === undefined) return null;
  const cell = /** @type {[number, number]} */ ([Number(row), Number(column)]);
  return chart.holds?.(cell) ? cell : null;
}
