/** What the steps of Inside are made of: numbers, little bars for vectors, sums written out term by term. */

import { isDark, paper, series } from "./colour.js";
import { productTerms } from "./inside_arithmetic.js";
import { clear, h, svg } from "./make.js";
import { t } from "./text.js";

const DIGITS = 4;
const TERMS_SHOWN = 6;
const STRIP = { height: 44, bar: 7, gap: 2 };

/** A number with four digits after the point, or a power of ten where that would hide it. */
export function numberText(value) {
  if (value === -Infinity) return "−∞";
  const size = Math.abs(value);
  const text = size !== 0 && (size >= 1e6 || size < 5e-5) ? value.toExponential(2) : value.toFixed(DIGITS);
  return text.replaceAll("-", "−");
}

/** A small number such as a difference, as a power of ten. */
export function smallText(value) {
  return value === 0 ? "0" : value.toExponential(1).replaceAll("-", "−");
}

/** A number on the page; `data-value` keeps all of it. */
export function numberNode(value, attributes = {}) {
  return h("span", { class: "number", "data-value": String(value), ...attributes }, numberText(value));
}

/** A vector as bars: up is positive, down is negative; with `onDimension` one of them can be chosen with the arrow keys or a click. */
export function vectorStrip(values, { label, chosen = null, onDimension = null }) {
  const picture = svg("svg", {
    class: "strip",
    ...stripSize(values.length),
    role: "img",
    "aria-label": t("inside.vector", { label, count: values.length }),
  });
  clear(picture, stripBars(values, chosen));
  if (onDimension) picture.addEventListener("click", (event) => onDimension(dimensionAt(event, picture, values.length)));
  picture.classList.toggle("is-choosable", Boolean(onDimension));
  return picture;
}

/** A line of a list of vectors: what it is, of which token, and its bars. */
export function vectorRow(letter, token, values, options = {}) {
  return h(
    "div",
    { class: "vector-row" },
    h("dt", null, h("i", null, letter), h("span", { class: "of", dir: "auto" }, `(${token})`)),
    h("dd", null, vectorStrip(values, { label: `${letter}(${token})`, ...options })),
  );
}

function stripSize(count) {
  const width = count * (STRIP.bar + STRIP.gap) + STRIP.gap;
  const viewBox = `0 0 ${width} ${STRIP.height}`;
  return { width, height: STRIP.height, viewBox, preserveAspectRatio: "none" }; // a long vector's bars become narrow, not low
}

function stripBars(values, chosen) {
  const most = Math.max(1e-9, ...values.map(Math.abs));
  const middle = STRIP.height / 2;
  const colours = [series(0).colour, series(1).colour];
  const bars = values.map((value, index) => {
    const length = Math.max(1, (Math.abs(value) / most) * (middle - 3));
    const x = STRIP.gap + index * (STRIP.bar + STRIP.gap);
    return svg("rect", {
      x,
      y: value >= 0 ? middle - length : middle,
      width: STRIP.bar,
      height: length,
      rx: 1.5,
      fill: colours[value >= 0 ? 0 : 1],
    });
  });
  const frame =
    chosen !== null &&
    svg("rect", {
      x: chosen * (STRIP.bar + STRIP.gap) + 0.75,
      y: 0.75,
      width: STRIP.bar + STRIP.gap + 0.5,
      height: STRIP.height - 1.5,
      rx: 3,
      fill: "none",
      stroke: paper(isDark()).cursor,
      "stroke-width": 1.5,
      "vector-effect": "non-scaling-stroke",
    });
  return [svg("line", { x1: 0, x2: "100%", y1: middle, y2: middle, stroke: paper(isDark()).line }), bars, frame];
}

function dimensionAt(event, picture, count) {
  const box = picture.getBoundingClientRect();
  return Math.min(count - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * count)));
}

/** Which number of a vector is written out: a small field, counted from one. */
export function dimensionField(label, count, chosen, choose) {
  const keep = (event) => {
    const number = Math.round(Number(event.target.value));
    if (number >= 1 && number <= count) choose(number - 1);
  };
  return h(
    "label",
    { class: "dimension" },
    label,
    h("input", { type: "number", min: "1", max: String(count), value: String(chosen + 1), onchange: keep }),
    h("span", { class: "faint" }, `/ ${count}`),
  );
}

/**
 * A sum written out: the first terms, a button for all of them, and the total.
 *
 * rows: [{label, parts: [node or text], value}]; extra rows such as a bias count as terms; `total` is the sum as computed.
 */
export function writtenSum({ rows, total, totalLabel }) {
  const body = h("tbody");
  const place = h("div", { class: "sum" });
  const show = (isWhole) => {
    const shown = isWhole ? rows : rows.slice(0, TERMS_SHOWN);
    const rest = rows.slice(shown.length);
    clear(body, shown.map(termRow), rest.length > 0 && restRow(rest, () => show(true)));
  };
  show(rows.length <= TERMS_SHOWN + 1);
  const foot = h("tfoot", null, h("tr", null, h("th", { scope: "row", colspan: "2" }, totalLabel), h("td", null, numberNode(total))));
  clear(
    place,
    h(
      "div",
      { class: "table-scroll", tabindex: "0", role: "group", "aria-label": totalLabel },
      h("table", { class: "numbers terms" }, body, foot),
    ),
  );
  return place;
}

function termRow({ label, parts, value }) {
  return h("tr", null, h("th", { scope: "row" }, label), h("td", { class: "term" }, parts), h("td", null, numberNode(value)));
}

function restRow(rest, showAll) {
  const sum = rest.reduce((total, { value }) => total + value, 0);
  const button = h("button", { type: "button", class: "link", onclick: showAll }, t("inside.more_terms", { count: rest.length }));
  return h("tr", null, h("th", { scope: "row" }, "…"), h("td", { class: "term" }, button), h("td", null, numberNode(sum)));
}

/** "0.31 × −0.20" as the middle of a term. */
export function timesParts(left, right) {
  return [numberNode(left), " × ", numberNode(right)];
}

/** The terms of one row of a matrix times a vector, as of W x: "W₁,₁ x₁" and so on. */
export function matrixTerms(weight, row, vector, letter) {
  return productTerms(weight[row], vector).map(({ left, right, product }, index) => ({
    label: `W${subscript(row + 1)},${subscript(index + 1)} ${letter}${subscript(index + 1)}`,
    parts: timesParts(left, right),
    value: product,
  }));
}

/** A number in small figures below the line. */
export function subscript(number) {
  return [...String(number)].map((digit) => String.fromCodePoint(0x2080 + Number(digit))).join("");
}

/** A small vector or matrix in full, as a table of numbers. */
export function matrixTable(rows, { label, rowLabels = null, columnLabels = null }) {
  const head =
    columnLabels &&
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        rowLabels && h("td"),
        columnLabels.map((one) => h("th", { scope: "col" }, one)),
      ),
    );
  const body = rows.map((row, index) =>
    h(
      "tr",
      null,
      rowLabels && h("th", { scope: "row" }, rowLabels[index]),
      row.map((value) => h("td", { "data-value": String(value) }, shortNumber(value))),
    ),
  );
  return h(
    "div",
    { class: "matrix-block" },
    h("table", { class: "numbers matrix" }, h("caption", null, label), head, h("tbody", null, body)),
  );
}

/** A chosen number of the worked example, without needless zeros. */
function shortNumber(value) {
  return String(Number(value.toFixed(DIGITS))).replaceAll("-", "−");
}

/** One step: its number, title, formula, a sentence or two, and the numbers. */
export function stepCard({ number, title, formula, text, isHalf = false }, ...children) {
  return h(
    "section",
    { class: isHalf ? "card step is-half" : "card step", "aria-labelledby": `step-${number}` },
    h(
      "div",
      { class: "step-head" },
      h("span", { class: "step-number", "aria-hidden": "true" }, number),
      h("h2", { id: `step-${number}` }, title),
      formula,
    ),
    h("p", { class: "step-text" }, text),
    children,
  );
}
