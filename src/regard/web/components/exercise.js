// @ts-check
/** The exercise: results that stay hidden until the reader asks for them. */

import { t } from "../core/i18n.js";
import { useLostFocus } from "../core/query.js";
import { h, signal, useState } from "../core/ui.js";
import { numberSpan } from "./number_text.js";

/** Whether results are hidden until the reader has computed them. */
export const hidesResults = signal(false);

/**
 * A number that is the result of a step: in an exercise a button that shows it.
 * @param {{ value: number }} props
 */
export function Result({ value }) {
  const [isShown, setShown] = useState(false);
  const ref = useLostFocus(isShown);
  if (isShown) return h("span", { ref, tabindex: -1 }, numberSpan(value));
  if (!hidesResults.value) return numberSpan(value);
  const label = t("exercise.show");
  return h(
    "button",
    { type: "button", class: "quiet hidden-result", title: label, "aria-label": label, onClick: () => setShown(true) },
    "?",
  );
}
