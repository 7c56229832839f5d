/** A run's curves (loss, scores, learning rate), and what the model outputs for a few examples at each validation. */

import { lines } from "../../charts/lines.js";
import { Plot } from "../../charts/plot.js";
import { Slider } from "../../components/controls.js";
import { Card } from "../../components/layout.js";
import { Empty } from "../../components/placeholders.js";
import { t } from "../../core/i18n.js";
import { useWidth } from "../../core/query.js";
import { h, useMemo } from "../../core/ui.js";
import { indexParam } from "../../core/url.js";
import { markedWords } from "../../math/text_diff.js";

/** @import { Series } from "../../charts/lines.js" */
/** @import { Store } from "../../core/store.js" */
/** @import { TrainingLog, ValidationEvent } from "../../math/training_log.js" */
/** @typedef {{ id: string, title: string, explanation: string, series: Series[] }} CurveData */

const HEIGHT = 240; // pixels

/** @param {{ log: TrainingLog, stepRange: [number, number] }} props */
export function Curves({ log, stepRange }) {
  const hasScores = log.bleu.length > 0 || log.validationLoss.length === 0; // a language model is validated by its loss alone
  const hasCider = log.cider.length > 0;
  const loss = {
    id: "loss",
    title: t("training.loss"),
    explanation: t("training.loss_hint"),
    series: [
      { name: t("training.train_loss"), points: log.loss },
      { name: t("training.valid_loss"), points: log.validationLoss },
      ...(log.oldLoss.length > 0 ? [{ name: t("training.old_loss"), points: log.oldLoss }] : []),
    ],
  };
  const scores = {
    id: "scores",
    title: t("training.scores"),
    explanation: t("training.scores_hint"),
    series: [
      { name: "BLEU", points: log.bleu },
      { name: "chrF", points: log.chrf },
      ...(log.oldBleu.length > 0 ? [{ name: t("training.old_bleu"), points: log.oldBleu }] : []),
    ],
  };
  const cider = {
    id: "cider",
    title: t("training.cider"),
    explanation: t("training.cider_hint"),
    series: [{ name: t("training.cider"), points: log.cider }],
  };
  const rate = {
    id: "rate",
    title: t("training.rate"),
    explanation: t("training.rate_hint"),
    series: [{ name: t("training.rate"), points: log.learningRate }],
  };
  const shown = [loss, ...(hasScores ? [scores] : []), ...(hasCider ? [cider] : []), rate];
  return h(
    "div",
    { class: shown.length === 3 ? "triples" : "pairs" },
    shown.map((curve) => h(CurveCard, { key: curve.id, curve, log, stepRange })),
  );
}

/** @param {{ curve: CurveData, log: TrainingLog, stepRange: [number, number] }} props */
function CurveCard({ curve: { title, explanation, series }, log, stepRange }) {
  const [box, width] = useWidth();
  const chart = useMemo(
    () =>
      lines(
        { title, series, xLabel: t("training.step_axis"), yLabel: title, xHeld: stepRange },
        { width, height: HEIGHT },
      ),
    [log, stepRange, width, title],
  );
  return h(
    Card,
    { title, explanation },
    h("div", { ref: box, class: "lines" }, width > 0 && h(Plot, { chart, hint: t("lines.hint") })),
  );
}

/**
 * The samples of one validation; of the last one unless the address names another.
 * @param {{ store: Store, log: TrainingLog, isOfImages: boolean }} props
 */
export function Samples({ store, log, isOfImages }) {
  const { validations } = log;
  const count = validations.length;
  const number = indexParam(store.url.value.validation, count + 1) || count;
  const explanation = t(isOfImages ? "training.samples_hint_pictures" : "training.samples_hint");
  const slider = h(Slider, {
    label: t("training.validation"),
    min: 1,
    max: count,
    value: number,
    onChange: (value) => store.set({ validation: value === count ? "" : String(value) }),
  });
  return h(
    Card,
    { title: t("training.samples"), explanation },
    count === 0
      ? h(Empty, null, t("training.no_samples"))
      : h(
          "div",
          { class: "stack" },
          count > 1 && slider,
          h(SampleTable, { validation: validations[number - 1], isOfImages }),
        ),
  );
}

/** @param {{ validation: ValidationEvent, isOfImages: boolean }} props */
function SampleTable({ validation: { step, bleu, loss, samples = [] }, isOfImages }) {
  const names = [t(isOfImages ? "training.picture" : "training.source"), t("training.reference"), t("training.output")];
  const at = step.toLocaleString("en");
  const caption =
    typeof bleu === "number"
      ? t("training.samples_at", { step: at, bleu: bleu.toFixed(1) })
      : t("training.samples_at_loss", { step: at, loss: loss.toFixed(3) });
  const rows = samples.map(([source, reference, output], index) =>
    h(
      "tr",
      { key: index },
      // A narrow screen puts the columns below each other, each with its label.
      [source, reference, differing(output, reference)].map((content, column) =>
        h("td", { "data-label": names[column] }, content),
      ),
    ),
  );
  return h(
    "div",
    { class: "table-scroll", tabindex: 0, role: "region", "aria-label": t("training.samples") },
    h(
      "table",
      { class: "samples" },
      h("caption", null, caption),
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          names.map((name) => h("th", { scope: "col" }, name)),
        ),
      ),
      h("tbody", null, rows),
    ),
  );
}

/**
 * @param {string} output
 * @param {string} reference
 */
function differing(output, reference) {
  return markedWords(output, reference).map(({ word, differs }) => [differs ? h("mark", null, word) : word, " "]);
}
