/** A run's curves (loss, learning rate, validation scores) and what the model says of a few sentences at each validation. */

import { clear, h } from "./make.js";
import { lines } from "./lines.js";
import { card, emptyNote, slider } from "./notes.js";
import { savingButtons } from "./saving.js";
import { t } from "./text.js";
import { markedWords } from "./wording.js";

/** Three plots; `show(journal)` draws what readJournal gave. */
export function trainingCurves() {
  const xLabel = t("training.stepAxis");
  const loss = lines({ title: t("training.loss"), series: [], xLabel, yLabel: t("training.loss"), height: 240, xFrom: 0 });
  const scores = lines({ title: t("training.scores"), series: [], xLabel, yLabel: t("training.scores"), height: 240, xFrom: 0 });
  const rate = lines({ title: t("training.rate"), series: [], xLabel, yLabel: t("training.rate"), height: 240, xFrom: 0 });
  const part = (key, plot) => card(t(`training.${key}`), { explanation: t(`training.${key}Hint`) }, plot.node, savingButtons(plot.toSvg, t(`training.${key}`)));
  return {
    node: h("div", { class: "triples" }, part("loss", loss), part("scores", scores), part("rate", rate)),
    show(journal) {
      loss.update({ series: [{ name: t("training.trainLoss"), points: journal.loss }, { name: t("training.validLoss"), points: journal.validationLoss }] });
      scores.update({ series: [{ name: "BLEU", points: journal.bleu }, { name: "chrF", points: journal.chrf }] });
      rate.update({ series: [{ name: t("training.rate"), points: journal.rate }] });
    },
    stop: () => [loss, scores, rate].forEach((plot) => plot.stop()),
  };
}

/** Samples of one validation, chosen by a slider; the last one unless the reader went elsewhere. */
export function samplesCard() {
  const place = h("div", { class: "stack" }, emptyNote(t("training.noSamples")));
  const now = { journal: null, at: null, count: 0 };
  const table = h("div");
  const draw = () => {
    const { validations } = now.journal;
    clear(table, samplesTable(validations[Math.min(now.at ?? Infinity, validations.length - 1)]));
  };
  return {
    node: card(t("training.samples"), { explanation: t("training.samplesHint") }, place),
    show(journal) {
      now.journal = journal;
      const count = journal.validations.length;
      if (!count) return;
      if (count !== now.count) clear(place, count > 1 && validationSlider(now, count, draw).node, table);
      now.count = count;
      draw();
    },
  };
}

function validationSlider(now, count, draw) {
  const value = Math.min(now.at ?? count, count - 1) + 1;
  return slider(t("training.validation"), { least: 1, most: count, value }, (at) => {
    now.at = at === count ? null : at - 1;
    draw();
  });
}

function samplesTable({ step, bleu, samples }) {
  const heads = ["source", "reference", "output"].map((key) => h("th", { scope: "col" }, t(`training.${key}`)));
  const title = t("training.samplesAt", { step: step.toLocaleString("en"), bleu: bleu.toFixed(1) });
  const rows = samples.map(([source, reference, output]) => h("tr", null, h("td", null, source), h("td", null, reference), h("td", null, differing(output, reference))));
  return h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": t("training.samples") },
    h("table", { class: "samples" }, h("caption", null, title), h("thead", null, h("tr", null, heads)), h("tbody", null, rows)));
}

function differing(output, reference) {
  return markedWords(output, reference).map(({ word, differs }) => [differs ? h("mark", null, word) : word, " "]);
}
