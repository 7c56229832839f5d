/** What can be taken away from a model or its input: parts of the architecture, words of the text, regions of the image. */

import { Plot } from "../../charts/plot.js";
import { regionGrid } from "../../charts/region_grid.js";
import { t } from "../../core/i18n.js";
import { h, useMemo } from "../../core/ui.js";
import { hideIntervention, parseIntervention, toggle, withoutIntervention } from "../../math/intervention_syntax.js";
import { realWords } from "../../math/tokens.js";
import { PARTS } from "./change_list.js";

/** @import { AnyTrace } from "../../data/backend.js" */
/** @typedef {(list: string[]) => void} ChangeHandler */

/**
 * A box for each part that the model can do without.
 * @param {{ parts: string[], list: string[], onChange: ChangeHandler }} props
 */
export function PartSwitches({ parts, list, onChange }) {
  const known = /** @type {(keyof typeof PARTS)[]} */ (parts.filter((part) => part in PARTS));
  const box = (/** @type {keyof typeof PARTS} */ part) => {
    const text = withoutIntervention(part);
    const input = { type: "checkbox", name: part, checked: list.includes(text) };
    return h(
      "label",
      { key: part, class: "check" },
      h("input", { ...input, onChange: () => onChange(toggle(list, [text])) }),
      t(PARTS[part]),
    );
  };
  return h("div", { class: "switches", role: "group", "aria-label": t("what_if.parts") }, known.map(box));
}

/**
 * The words of a text; one that is struck out is hidden from the model.
 * @param {{ side: "source" | "target", trace: Pick<AnyTrace, "source" | "target">, list: string[], onChange: ChangeHandler }} props
 */
export function WordSwitches({ side, trace, list, onChange }) {
  const word = (/** @type {{ text: string, pieces: number[] }} */ { text, pieces }, /** @type {number} */ index) => {
    const texts = pieces.map((position) => hideIntervention(side, position));
    const isHidden = texts.every((hidden) => list.includes(hidden));
    const button = { key: index, type: "button", dir: "auto", "aria-pressed": String(isHidden) };
    return h(
      "button",
      { ...button, onClick: () => onChange(toggle(list, texts)) },
      isHidden ? h("del", null, text) : text,
    );
  };
  return h(
    "div",
    { class: "chips word-switches", role: "group", "aria-label": t("what_if.words") },
    realWords(trace[side]).map(word),
  );
}

/**
 * The image as its regions; one that is chosen is hidden from the model.
 * @param {{ image: { rows: number, columns: number, image: string }, list: string[], onChange: ChangeHandler }} props
 */
export function RegionSwitches({ image, list, onChange }) {
  const hidden = list.map(parseIntervention).flatMap((found) => (found.kind === "hide" ? [found.position] : []));
  const title = t("what_if.regions");
  const chart = useMemo(
    () => regionGrid({ ...image, hidden, title, describe: (number) => t("what_if.region", { number }) }),
    [image, hidden.join(), title],
  );
  const flip = (/** @type {[number, number | null]} */ [row, column]) =>
    onChange(toggle(list, [hideIntervention("image", row * image.columns + (column ?? 0))]));
  return h("div", { class: "region-switches" }, h(Plot, { chart, onSelect: flip, hasTools: false }));
}
