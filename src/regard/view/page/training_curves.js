/** A run's curves (loss, learning rate, validation scores) and what the model says of a few sentences at each validation. */

import { clear, h } from "./make.js";
import { lines } from "./lines.js";
import { card, emptyNote, slider } from "./notes.js";
import { savingButtons } from "./saving.js";
import { t } from "./text.js";
import { markedWords } from "./wording.js";

/** Three plots, and a fourth where captions are scored, on a scale of its own; `show(journal, stepsHeld)` draws what readJournal gave. */
export function trainingCurves() {
  const [loss, scores, cider, rate] = ["loss", "scores", "cider", "rate"].map((key) => {
    const title = t(`training.${key}`);
    return lines({ title, series: [], xLabel: t("training.stepAxis"), yLabel: title, height: 240 });
  });
  const part = (key, plot) => card(t(`training.${key}`), { explanation: t(`training.${key}Hint`) }, plot.node, savingButtons(plot.toSvg, t(`training.${key}`)));
  const [scoresCard, ciderCard] = [part("scores", scores), part("cider", cider)];
  ciderCard.hidden = true;
  const node = h("div", { class: "triples" }, part("loss", loss), scoresCard, ciderCard, part("rate", rate));
  return {
    node,
    show(journal, xHeld) {
      ciderCard.hidden = !journal.cider.length;
      scoresCard.hidden = journal.validationLoss.length > 0 && !journal.bleu.length;
      node.className = ciderCard.hidden !== scoresCard.hidden ? "triples" : "pairs";
      loss.update({ xHeld, series: [{ name: t("training.trainLoss"), points: journal.loss }, { name: t("training.validLoss"), points: journal.validationLoss }] });
      scores.update({ xHeld, series: [{ name: "BLEU", points: journal.bleu }, { name: "chrF", points: journal.chrf }] });
      cider.update({ xHeld, series: [{ name: t("training.cider"), points: journal.cider }] });
      rate.update({ xHeld, series: [{ name: t("training.rate"), points: journal.rate }] });
    },
    stop: () => [loss, scores, cider, rate].forEach((plot) => plot.stop()),
  };
}

/** Samples of one validation, chosen by a slider; the last one unless the reader went elsewhere. */
export function samplesCard({ isOfPictures }) {
  const place = h("div", { class: "stack" }, emptyNote(t("training.noSamples")));
  const now = { journal: null, at: null, count: 0 };
  const table = h("div");
  const draw = () => {
    const { validations } = now.journal;
    clear(table, samplesTable(validations[Math.min(now.at ?? Infinity, validations.length - 1)], isOfPictures));
  };
  return {
    node: card(t("training.samples"), { explanation: t(isOfPictures ? "training.samplesHintPictures" : "training.samplesHint") }, place),
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

function samplesTable({ step, bleu, loss, samples }, isOfPictures) {
  const names = [isOfPictures ? "picture" : "source", "reference", "output"].map((key) => t(`training.${key}`));
  const cell = (child, column) => h("td", { "data-label": names[column] }, child); // shown where the columns stand below each other
  const at = step.toLocaleString("en");
  const title = typeof bleu === "number" ? t("training.samplesAt", { step: at, bleu: bleu.toFixed(1) }) : t("training.samplesAtLoss", { step: at, loss: loss.toFixed(3) });
  const rows = samples.map(([source, reference, output]) => h("tr", null, [source, reference, differing(output, reference)].map(cell)));
  return h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": t("training.samples") },
    h("table", { class: "samples" }, h("caption", null, title), h("thead", null, h("tr", null, names.map((name) => h("th", { scope: "col" }, name)))), h("tbody", null, rows)));
}

function differing(output, reference) {
  return markedWords(output, reference).map(({ word, differs }) => [differs ? h("mark", null, word) : word, " "]);
}
