/** Any chart on the page: pointer and arrow keys move a cursor, the cell below it is read out, the numbers can be had as a table or a file. */

import { t } from "../core/i18n.js";
import { isDark } from "../core/theme.js";
import { h, useLayoutEffect, useMemo, useRef, useSignal, useState } from "../core/ui.js";
import { ColourLegend } from "./colour_legend.js";
import { saveChart } from "./save.js";

/** @import { Chart, Raster } from "./chart.js" */

const MOST_ROWS = 200; // of a table on the page; a file has all
const MOST_COLUMNS = 64;
const DRAG_UNIT = 100; // pixels that change a weight by 1
const LEAST_DRAG = 4; // pixels; less is a click
const FRAMES = /** @type {const} */ ({
  map: { figure: "map", area: "map-area", readout: "map-readout", role: "application", keys: "map.keys", hint: null },
  field: {
    figure: "field-picture",
    area: "field-area",
    readout: "read-out",
    role: "application",
    keys: "map.keys",
    hint: null,
  },
  lines: {
    figure: "lines",
    area: "lines-frame",
    readout: "read-out",
    role: "group",
    keys: "lines.keys",
    hint: "lines.hint",
  },
});

/**
 * @template Cell
 * @param {object} props
 * @param {Chart<Cell>} props.chart
 * @param {(cell: Cell | null) => void} [props.onCell] the cell under the cursor
 * @param {(cell: Cell, isByKeys: boolean) => void} [props.onSelect] a click, Enter or Space
 * @param {(cell: Cell, change: number, isEnd: boolean) => void} [props.onDrag] a cell is drawn up or down: by 1 for 100 pixels
 * @param {Cell | null} [props.rest] the cell that is marked while pointer and focus are elsewhere
 * @param {string} [props.hint] what is read out without a cell
 * @param {boolean} [props.hasTools] buttons for the table and for files
 */
export function Plot({ chart, onCell, onSelect, onDrag, rest = null, hint, hasTools = true }) {
  const frame = FRAMES[chart.kind ?? "map"];
  const pointed = useSignal(/** @type {Cell | null} */ (null));
  const isByKeys = useRef(false);
  const area = useRef(/** @type {HTMLDivElement | null} */ (null));
  const dark = isDark.value;
  const drawing = useMemo(() => h("g", null, chart.draw(dark)), [chart, dark]); // moving the cursor draws no cell again
  const existing = (/** @type {Cell | null} */ cell) => (cell !== null && chart.holds?.(cell) !== false ? cell : null);
  const cell = existing(pointed.value) ?? existing(rest);
  const move = (/** @type {Cell | null} */ next, /** @type {boolean} */ byKeys) => {
    isByKeys.current = byKeys;
    if (String(next) === String(pointed.peek())) return;
    pointed.value = next;
    onCell?.(next);
  };
  const under = (/** @type {PointerEvent | MouseEvent} */ event) => {
    const box = /** @type {HTMLDivElement} */ (area.current).getBoundingClientRect();
    const scale = chart.width / box.width;
    return chart.hit((event.clientX - box.left) * scale, (event.clientY - box.top) * scale);
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    const next = chart.step(existing(pointed.peek()) ?? existing(rest), event.key);
    if (next !== undefined) move(next, true);
    else if (event.key !== "Enter" && event.key !== " ") return;
    else if (cell !== null) onSelect?.(cell, true);
    event.preventDefault();
  };
  const drag = useDrag(under, onDrag);
  const focus = () => {
    const isVisible = area.current?.matches(":focus-visible");
    if (isVisible && cell === null) move(chart.step(null, "Home") ?? null, true);
  };
  const keys = t(onSelect && chart.kind === "lines" ? "lines.keys_choose" : frame.keys);
  const size = { width: chart.width, height: chart.height, viewBox: `0 0 ${chart.width} ${chart.height}` };
  return h(
    "figure",
    { class: frame.figure },
    h(
      "div",
      {
        ref: area,
        class: [frame.area, onSelect && "can-choose", onDrag && "can-drag"].filter(Boolean).join(" "),
        tabindex: 0,
        role: frame.role,
        "aria-label": `${chart.title}. ${keys}`,
        onPointerDown: drag.begin,
        onPointerUp: drag.end,
        onPointerCancel: drag.end,
        onPointerMove: (/** @type {PointerEvent} */ event) => drag.move(event) || move(under(event), false),
        onPointerLeave: () => move(null, false),
        onClick: (/** @type {MouseEvent} */ event) => {
          const clicked = under(event);
          if (clicked !== null && !drag.hasEnded()) onSelect?.(clicked, false);
        },
        onKeyDown: press,
        onFocus: focus,
        onBlur: () => move(null, false),
      },
      chart.raster && h(RasterCanvas, { raster: chart.raster, chart, dark }),
      h(
        "svg",
        { class: "map-drawing", ...size, "aria-hidden": "true", focusable: "false" },
        drawing,
        h("g", { class: "map-cursor" }, cell !== null && chart.cursor(cell, dark)),
      ),
    ),
    // A pointer passes many cells on its way: only keys are spoken.
    h(
      "p",
      { class: frame.readout, "aria-live": isByKeys.current ? "polite" : "off" },
      cell === null ? (hint ?? (frame.hint ? t(frame.hint) : "\u00a0")) : chart.describe(cell, dark),
    ),
    hasTools && h(ChartTools, { chart }),
  );
}

/**
 * A cell that is drawn up or down with the pointer; a press without a movement is a click.
 * @template Cell
 * @param {(event: PointerEvent) => Cell | null} under
 * @param {((cell: Cell, change: number, isEnd: boolean) => void) | undefined} onDrag
 */
function useDrag(under, onDrag) {
  const state = useRef({ cell: /** @type {Cell | null} */ (null), y: 0, isMoving: false, hasEnded: false });
  const changeOf = (/** @type {PointerEvent} */ event) => (state.current.y - event.clientY) / DRAG_UNIT;
  return {
    begin(/** @type {PointerEvent} */ event) {
      if (onDrag && event.button === 0)
        state.current = { cell: under(event), y: event.clientY, isMoving: false, hasEnded: false };
    },
    /** Whether a cell is being dragged. */
    move(/** @type {PointerEvent} */ event) {
      const { cell, isMoving } = state.current;
      if (cell === null || !onDrag) return false;
      if (!isMoving && Math.abs(changeOf(event)) * DRAG_UNIT < LEAST_DRAG) return false;
      if (!isMoving) /** @type {Element} */ (event.currentTarget).setPointerCapture(event.pointerId);
      state.current.isMoving = true;
      onDrag(cell, changeOf(event), false);
      return true;
    },
    end(/** @type {PointerEvent} */ event) {
      const { cell, isMoving } = state.current;
      const change = changeOf(event);
      state.current = { cell: null, y: 0, isMoving: false, hasEnded: isMoving };
      if (cell !== null && isMoving) onDrag?.(cell, change, true);
    },
    /** Whether the click that follows is the end of a drag. */
    hasEnded: () => state.current.hasEnded,
  };
}

/** @param {{ raster: Raster, chart: Chart<any>, dark: boolean }} props */
function RasterCanvas({ raster, chart, dark }) {
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  useLayoutEffect(() => raster.paint(/** @type {HTMLCanvasElement} */ (canvas.current), dark), [raster, dark]);
  const percent = (/** @type {number} */ part, /** @type {number} */ whole) => `${(part / whole) * 100}%`;
  const style = {
    left: percent(raster.x, chart.width),
    top: percent(raster.y, chart.height),
    width: percent(raster.width, chart.width),
    height: percent(raster.height, chart.height),
  };
  return h("canvas", { ref: canvas, class: "map-cells", "aria-hidden": "true", style });
}

/** @param {{ chart: Chart<any> }} props */
function ChartTools({ chart }) {
  const [isOpen, setOpen] = useState(false);
  const toggle = { type: "button", class: "quiet", "aria-expanded": String(isOpen), onClick: () => setOpen(!isOpen) };
  return [
    h(
      "div",
      { class: "chart-tools" },
      h(SaveButtons, { chart }),
      chart.table && h("button", toggle, t("chart.table")),
      chart.scale && h(ColourLegend, { most: chart.scale }),
    ),
    isOpen && chart.table && h(TableOfChart, { chart }),
  ];
}

/** @param {{ chart: Chart<any> }} props */
export function SaveButtons({ chart }) {
  const button = (/** @type {import("./save.js").FileKind} */ kind, /** @type {string} */ title) =>
    h("button", { type: "button", class: "quiet", title, onClick: () => saveChart(chart, kind) }, kind.toUpperCase());
  return h(
    "span",
    { class: "saving", role: "group", "aria-label": t("saving.label") },
    button("svg", t("saving.svg")),
    button("png", t("saving.png")),
    chart.table && button("csv", t("saving.csv")),
    chart.table && button("json", t("saving.json")),
  );
}

/** @param {{ chart: Chart<any> }} props */
function TableOfChart({ chart }) {
  const { header, rows } = chart.table?.() ?? { header: [], rows: [] };
  const isCut = rows.length > MOST_ROWS || header.length > MOST_COLUMNS;
  const number = (/** @type {string | number} */ value) =>
    typeof value === "number" ? Number(value.toPrecision(4)).toString() : value;
  const row = (/** @type {(string | number)[]} */ values, /** @type {number} */ index) =>
    h(
      "tr",
      { key: index },
      values
        .slice(0, MOST_COLUMNS)
        .map((value, column) => (column ? h("td", null, number(value)) : h("th", { scope: "row" }, number(value)))),
    );
  return h(
    "div",
    { class: "table-scroll", tabindex: 0, role: "region", "aria-label": chart.title },
    h(
      "table",
      { class: "chart-table" },
      h(
        "caption",
        null,
        chart.title,
        isCut && ` (${t("chart.table_cut", { rows: MOST_ROWS, columns: MOST_COLUMNS })})`,
      ),
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          header.slice(0, MOST_COLUMNS).map((name, index) => h("th", { key: index, scope: "col" }, name)),
        ),
      ),
      h("tbody", null, rows.slice(0, MOST_ROWS).map(row)),
    ),
  );
}
