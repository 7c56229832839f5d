/** The four criteria for a position encoding, each with the number that shows whether it is met. */

import { readableNumber } from "../../charts/scales.js";
import { t } from "../../core/i18n.js";
import { h } from "../../core/ui.js";

/** @import { measureCriteria } from "../../math/positions.js" */
/** @typedef {ReturnType<typeof measureCriteria>} Criteria */

/** @type {readonly { name: keyof Criteria, title: "criteria.unique" | "criteria.constant" | "criteria.bounded" | "criteria.deterministic", why: "criteria.unique_why" | "criteria.constant_why" | "criteria.bounded_why" | "criteria.deterministic_why" }[]} */
const CRITERIA = [
  { name: "unique", title: "criteria.unique", why: "criteria.unique_why" },
  { name: "constant", title: "criteria.constant", why: "criteria.constant_why" },
  { name: "bounded", title: "criteria.bounded", why: "criteria.bounded_why" },
  { name: "deterministic", title: "criteria.deterministic", why: "criteria.deterministic_why" },
];

/** @param {{ criteria: Criteria }} props */
export function EncodingCriteria({ criteria }) {
  const cards = CRITERIA.map(({ name, title, why }, index) => {
    const { isMet } = criteria[name];
    return h(
      "li",
      { key: name, class: `criterion ${isMet ? "is-met" : "is-unmet"}`, "data-criterion": name },
      h(
        "span",
        { class: "criterion-verdict" },
        h("span", { "aria-hidden": "true" }, isMet ? "✓" : "✗"),
        " ",
        t(isMet ? "criteria.met" : "criteria.not_met"),
      ),
      h("h3", null, `${index + 1}. ${t(title)}`),
      h("p", { class: "criterion-number" }, measuredText(name, criteria)),
      h("p", { class: "faint" }, t(why)),
    );
  });
  return h("ol", { class: "criteria" }, cards);
}

/**
 * @param {keyof Criteria} name
 * @param {Criteria} criteria
 */
function measuredText(name, { unique, constant, bounded, deterministic }) {
  const count = (/** @type {number} */ number) => number.toLocaleString("en");
  if (name === "unique") return t("criteria.unique_number", { smallest: readableNumber(unique.smallest) });
  if (name === "constant") return t("criteria.constant_number", { spread: readableNumber(constant.spread) });
  if (name === "deterministic") {
    const { differing, numbers } = deterministic;
    return t("criteria.deterministic_number", { differing: count(differing), numbers: count(numbers) });
  }
  const length = count(bounded.length);
  if (bounded.trained) return t("criteria.bounded_untrained", { length, trained: count(bounded.trained) });
  if (bounded.largestLonger === null) return t("criteria.bounded_ends", { length });
  const [now, then] = [readableNumber(bounded.largest), readableNumber(bounded.largestLonger)];
  return t("criteria.bounded_number", { now, then, length });
}
