/** How attention sharpens: at how many tokens a map looks at once, step by step. */

import { h } from "./make.js";
import { headHabits } from "./habits.js";
import { lines } from "./lines.js";
import { savingButtons } from "./saving.js";
import { t } from "./text.js";

const MOST_STEPS = 40; // of a long run; evenly chosen

/** A plot over the steps; `onStep(step)` is told of a click. Returns {node, show({steps, load}), mark(step), stop()}. */
export function focusPlot(onStep) {
  const plot = lines({
    title: t("focus.title"), series: [], xLabel: t("training.stepAxis"), yLabel: t("focus.axis"), height: 230, xFrom: 0, hint: t("focus.hint"), onPoint: onStep,
  });
  let round = null;
  const show = async ({ steps, load }) => {
    const own = (round = {});
    const points = [];
    for (const step of evenlyChosen(steps, MOST_STEPS)) {
      const map = await load(step);
      if (round !== own) return;
      points.push([step, headHabits(map.weights, map.rows, map.columns, false).reach]);
    }
    plot.update({ series: [{ name: t("focus.axis"), points }] });
  };
  return {
    node: h("div", { class: "focus-plot" }, h("h3", null, t("focus.title")), plot.node, savingButtons(plot.toSvg, t("focus.title"))),
    show: (asked) => show(asked).catch(() => null),
    mark: (step) => plot.update({ resting: step }),
    stop: () => ((round = null), plot.stop()),
  };
}

/** At most so many of a list, its first and last among them. */
export function evenlyChosen(list, most) {
  if (list.length <= most) return list;
  return Array.from({ length: most }, (_, index) => list[Math.round((index * (list.length - 1)) / (most - 1))]);
}
