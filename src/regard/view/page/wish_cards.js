/** The four wishes for a position encoding, each with the number that shows whether it is granted. */

import { clear, h } from "./make.js";
import { readableNumber } from "./scales.js";
import { t } from "./text.js";

const WISHES = ["unique", "constant", "bounded", "deterministic"];

/** Four cards; `show(measured)` fills them with what encodings.js measured. */
export function wishCards() {
  const cards = Object.fromEntries(WISHES.map((wish) => [wish, h("li", { class: "wish", "data-wish": wish })]));
  return {
    node: h("ol", { class: "wishes" }, Object.values(cards)),
    show(measured) {
      WISHES.forEach((wish, index) => fillWish(cards[wish], index + 1, wish, measured[wish]));
    },
  };
}

function fillWish(node, number, wish, measured) {
  node.classList.toggle("is-granted", measured.granted);
  node.classList.toggle("is-refused", !measured.granted);
  const verdict = t(measured.granted ? "wish.granted" : "wish.refused");
  clear(
    node,
    h("span", { class: "wish-verdict" }, h("span", { "aria-hidden": "true" }, measured.granted ? "✓" : "✗"), " ", verdict),
    h("h3", null, `${number}. ${t(`wish.${wish}`)}`),
    h("p", { class: "wish-number" }, wishNumber(wish, measured)),
    h("p", { class: "faint" }, t(`wish.${wish}.why`)),
  );
}

function wishNumber(wish, measured) {
  switch (wish) {
    case "unique":
      return t("wish.unique.number", { smallest: readableNumber(measured.smallest) });
    case "constant":
      return t("wish.constant.number", { spread: readableNumber(measured.spread) });
    case "bounded":
      if (measured.trained) return t("wish.bounded.untrained", { length: measured.length.toLocaleString("en"), trained: measured.trained.toLocaleString("en") });
      return measured.then === null
        ? t("wish.bounded.ends", { length: measured.length.toLocaleString("en") })
        : t("wish.bounded.number", { now: readableNumber(measured.now), then: readableNumber(measured.then), length: measured.length.toLocaleString("en") });
    default:
      return t("wish.deterministic.number", { differing: measured.differing.toLocaleString("en"), numbers: measured.numbers.toLocaleString("en") });
  }
}
