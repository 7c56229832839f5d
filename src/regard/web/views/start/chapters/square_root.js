// @ts-check
/** Why the square root of d: scores grow with the width, the softmax saturates, and its gradient vanishes. */

import { lines } from "../../../charts/lines.js";
import { Slider } from "../../../components/controls.js";
import { t } from "../../../core/i18n.js";
import { h, useMemo } from "../../../core/ui.js";
import { maskedSoftmax } from "../../../math/attention.js";
import { dotProductsByWidth, softmaxStatistics, WIDTHS } from "../../../math/lesson.js";
import { Figures, ScoreTable, SizedChart, Verdict } from "../parts.js";

/** @import { Chapter, ResultProps } from "../chapter.js" */

const FIRST = WIDTHS.length - 1; // the width that the question asks about

/** @type {Chapter} */
export const squareRootChapter = {
  id: "square-root",
  title: "start.sqrt_title",
  idea: "start.sqrt_idea",
  question: "start.sqrt_question",
  answers: () => [
    ["one", t("start.sqrt_one")],
    ["root", t("start.sqrt_root")],
    ["all", t("start.sqrt_all")],
  ],
  Result,
  link: {
    text: "start.sqrt_link",
    state: { view: "inside", mode: "", unscaled: "1", query: "0", order: "", causal: "" },
  },
};

/** @param {ResultProps} props */
function Result({ store, guess, setting, onSetting }) {
  const chosen = WIDTHS.indexOf(Number(setting));
  const index = chosen < 0 ? FIRST : chosen;
  const width = WIDTHS[index];
  const products = useMemo(dotProductsByWidth, []);
  const statistics = useMemo(
    () => products.map((draws, at) => [softmaxStatistics(draws, 1), softmaxStatistics(draws, Math.sqrt(WIDTHS[at]))]),
    [products],
  );
  const { deviation } = statistics[FIRST][0];
  const widest = WIDTHS[FIRST];
  const nearest = [1, Math.sqrt(widest), widest].map((value) => Math.abs(Math.log(deviation / value)));
  const right = ["one", "root", "all"][nearest.indexOf(Math.min(...nearest))];
  return [
    h(
      Verdict,
      { store, guess, right, answers: squareRootChapter.answers() },
      t("start.sqrt_explained", {
        pairs: products[FIRST].flat().length,
        deviation: deviation.toFixed(1),
        slope: statistics[FIRST][0].slope.toFixed(3),
      }),
    ),
    h(Slider, {
      label: t("start.sqrt_width"),
      min: 0,
      max: WIDTHS.length - 1,
      value: index,
      format: (value) => String(WIDTHS[value]),
      onChange: (value) => onSetting(value === FIRST ? "" : String(WIDTHS[value])),
    }),
    h(
      "div",
      { class: "lesson-grid" },
      [1, Math.sqrt(width)].map((divisor, scaled) => {
        const scores = products[index][0].map((product) => product / divisor);
        const { weights } = maskedSoftmax(
          scores,
          scores.map(() => true),
        );
        const words = scores.map((_, key) => t("start.sqrt_key", { number: key + 1 }));
        const { deviation, largest, slope } = statistics[index][scaled];
        const title = scaled ? t("start.sqrt_scaled", { width }) : t("start.sqrt_unscaled");
        return h(
          "div",
          { key: scaled, class: "stack" },
          h(ScoreTable, { title, heading: t("inside.key"), words, scores, weights }),
          h(Figures, {
            items: [
              [t("start.sqrt_deviation"), deviation.toFixed(2), deviation],
              [t("start.sqrt_largest"), largest.toFixed(2), largest],
              [t("start.sqrt_slope"), slope.toFixed(3), slope],
            ],
          }),
        );
      }),
    ),
    h(
      "p",
      { class: "faint small" },
      t("start.sqrt_sample", { keys: products[index][0].length, queries: products[index].length }),
    ),
    h(SlopeChart, { statistics }),
  ];
}

/** @param {{ statistics: ReturnType<typeof softmaxStatistics>[][] }} props */
function SlopeChart({ statistics }) {
  const title = t("start.sqrt_chart");
  const draw = (/** @type {number} */ width) => {
    const points = (/** @type {number} */ which) =>
      statistics.map((pair, at) => /** @type {[number, number]} */ ([at, pair[which].slope]));
    const series = [
      { name: t("start.sqrt_unscaled"), points: points(0) },
      { name: t("start.sqrt_scaled_short"), points: points(1) },
    ];
    const everySecond = width < 420; // there the labels of all would overlap
    const xTicks = WIDTHS.map(
      (each, at) => /** @type {[number, string]} */ ([at, everySecond && at % 2 ? "" : String(each)]),
    );
    return lines({ series, title, xLabel: "d", yLabel: t("start.sqrt_slope"), xTicks }, { width, height: 220 });
  };
  return h(SizedChart, { title, deps: [statistics], draw });
}
