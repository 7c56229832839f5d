// @ts-check
/** Where order comes from: shuffled words with and without positions, and what a position encoding has to meet. */

import { MatrixTable, TableScroll } from "../../../components/number_table.js";
import { t } from "../../../core/i18n.js";
import { h, useMemo } from "../../../core/ui.js";
import { largestDifference } from "../../../math/attention.js";
import { outputInOrder } from "../../../math/lesson.js";
import {
  countEncoding,
  distanceTable,
  fractionEncoding,
  measureCriteria,
  randomEncoding,
  sinusoidalEncoding,
} from "../../../math/positions.js";
import { EXAMPLE, IN_ORDER, shuffled } from "../../../math/worked_example.js";
import { Verdict } from "../parts.js";

/** @import { Chapter, ResultProps } from "../chapter.js" */

const SHUFFLED = [3, 2, 0, 1]; // the order that the question asks about
const SAME = 1e-12; // a smaller difference is rounding
const [LENGTH, WIDTH] = [20, 16]; // of the encodings whose criteria are measured
const ENCODINGS = /** @type {const} */ ([
  { name: "positions.kind_sinusoidal", make: sinusoidalEncoding },
  { name: "positions.count", make: countEncoding },
  { name: "positions.fraction", make: fractionEncoding },
  { name: "positions.random", make: randomEncoding },
]);
const CRITERIA = /** @type {const} */ ([
  ["unique", "criteria.unique"],
  ["constant", "criteria.constant"],
  ["bounded", "criteria.bounded"],
  ["deterministic", "criteria.deterministic"],
]);

/** @type {Chapter} */
export const orderChapter = {
  id: "order",
  title: "start.order_title",
  idea: "start.order_idea",
  question: "start.order_question",
  answers: () => [
    ["same", t("start.order_same")],
    ["other", t("start.order_other")],
    ["zero", t("start.order_zero")],
  ],
  Setup,
  Result,
  link: { text: "start.order_link", state: { view: "positions" } },
};

function Setup() {
  return h("p", { class: "sample", lang: "ko" }, words(IN_ORDER), " → ", h("b", null, words(SHUFFLED)));
}

/** @param {number[]} order */
function words(order) {
  return order.map((word) => EXAMPLE.tokens[word]).join(" ");
}

/** @param {ResultProps} props */
function Result({ store, guess, setting, onSetting }) {
  const order = setting ? [...setting].map(Number) : SHUFFLED;
  const isOrder = order.length === IN_ORDER.length && IN_ORDER.every((word) => order.includes(word));
  const shown = isOrder ? order : SHUFFLED;
  const rows = [false, true].map((has) => [outputInOrder(IN_ORDER, has), outputInOrder(shown, has)]);
  const difference = largestDifference(outputInOrder(IN_ORDER, false), outputInOrder(SHUFFLED, false));
  const right = difference <= SAME ? "same" : "other";
  const captions = [t("start.order_without"), t("start.order_with")];
  return [
    h(Verdict, { store, guess, right, answers: orderChapter.answers() }, t("start.order_explained")),
    h(
      "p",
      null,
      h("span", { class: "sample", lang: "ko" }, words(shown)),
      " ",
      h("button", { type: "button", onClick: () => onSetting(shuffled(shown).join("")) }, t("inside.shuffle")),
    ),
    h(
      "div",
      { class: "lesson-grid" },
      rows.map((pair, index) =>
        h(
          "div",
          { key: index },
          h(MatrixTable, {
            rows: pair,
            caption: captions[index],
            rowLabels: [t("start.order_original"), t("start.order_shuffled")],
          }),
          h("p", { class: "small" }, t("start.order_difference", { difference: differenceText(pair) })),
        ),
      ),
    ),
    h(Requirements, null),
  ];
}

/** @param {number[][]} pair */
function differenceText([first, second]) {
  const difference = largestDifference(first, second);
  return difference <= SAME ? "0" : difference.toFixed(3);
}

function Requirements() {
  const measured = useMemo(
    () =>
      ENCODINGS.map(({ make }) => {
        const makeLength = (/** @type {number} */ length) => make(length, WIDTH);
        const encoding = makeLength(LENGTH);
        return measureCriteria(makeLength, encoding, distanceTable(encoding));
      }),
    [],
  );
  const head = CRITERIA.map(([name, title]) => h("th", { key: name, scope: "col" }, t(title)));
  const rows = ENCODINGS.map(({ name }, index) =>
    h(
      "tr",
      { key: name },
      h("th", { scope: "row" }, t(name)),
      CRITERIA.map(([criterion]) => {
        const { isMet } = measured[index][criterion];
        return h(
          "td",
          { key: criterion, class: isMet ? "is-met" : "is-unmet" },
          h("span", { "aria-hidden": "true" }, isMet ? "✓" : "✗"),
          h("span", { class: "only-heard" }, t(isMet ? "criteria.met" : "criteria.not_met")),
        );
      }),
    ),
  );
  return h(
    TableScroll,
    { label: t("start.order_requirements") },
    h(
      "table",
      { class: "requirements" },
      h("caption", null, h("b", null, t("start.order_requirements"))),
      h("thead", null, h("tr", null, h("td"), head)),
      h("tbody", null, rows),
    ),
  );
}
