/** How attention sharpens: at how many tokens a map looks at once, step by step. */

import { h } from "./make.js";
import { headHabits } from "./habits.js";
import { lines } from "./lines.js";
import { savingButtons } from "./saving.js";
import { t } from "./text.js";

const MOST_STEPS = 40; // of a long run; evenly chosen

/** A plot over the steps, of tokens or of a picture's places; `onStep(step)` is told of a click. Returns {node, hold(steps), show({steps, load}), mark(step), stop()}. */
export function focusPlot(onStep, { isOfPictures = false } = {}) {
  const [title, axis] = isOfPictures ? [t("focus.titlePictures"), t("focus.axisPictures")] : [t("focus.title"), t("focus.axis")];
  const plot = lines({ title, series: [], xLabel: t("training.stepAxis"), yLabel: axis, height: 230, hint: t("focus.hint"), onPoint: onStep });
  let round = null;
  const show = async ({ steps, load }) => {
    const own = (round = {});
    const points = [];
    for (const step of evenlyChosen(steps, MOST_STEPS)) {
      const map = await load(step);
      if (round !== own) return;
      points.push([step, headHabits(map.weights, map.rows, map.columns, false).reach]);
    }
    plot.update({ series: [{ name: axis, points }] });
  };
  return {
    node: h("div", { class: "focus-plot" }, h("h3", null, title), plot.node, savingButtons(plot.toSvg, title)),
    hold: (xHeld) => plot.update({ xHeld }),
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
