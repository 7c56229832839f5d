/** The worked example with its words in another order: without positions, self-attention gives each word the same. */

import { largestDifference, workThrough } from "./inside_arithmetic.js";
import { EXAMPLE, IN_ORDER, exampleInside } from "./inside_example.js";
import { matrixTable, smallText } from "./inside_parts.js";
import { h } from "./make.js";
import { card } from "./notes.js";
import { t } from "./text.js";

/** Another order than this one, by chance. */
export function shuffledOrder(order) {
  const left = [...order];
  const drawn = order.map(() => left.splice(Math.floor(Math.random() * left.length), 1)[0]);
  return drawn.every((word, place) => word === order[place]) ? shuffledOrder(order) : drawn;
}

/** Every word's weights and output: rows and, of the weights, columns in the order in which the words stand. */
export function exampleTable(order, isCausal) {
  const works = order.map((_, query) => workThrough(exampleInside(query, isCausal, order)));
  return { weights: works.map(({ weights }) => weights), outputs: works.map(({ context }) => context) };
}

/** How far the words' weights and outputs in that order are from those in the example's own, word for word. */
export function orderDifference(order, isCausal) {
  const [first, now] = [exampleTable(IN_ORDER, isCausal), exampleTable(order, isCausal)];
  const differences = order.map((word, place) => {
    const weights = order.map((key) => first.weights[word][key]);
    return Math.max(largestDifference(weights, now.weights[place]), largestDifference(first.outputs[word], now.outputs[place]));
  });
  return Math.max(...differences);
}

/** Both orders side by side, and what follows from them. */
export function shuffleCard(order, isCausal) {
  const difference = orderDifference(order, isCausal);
  const isSame = difference < 1e-9;
  return card(
    t("inside.shuffle_title"),
    {},
    h(
      "div",
      { class: "stack shuffled" },
      h("p", { role: "status" }, t(isSame ? "inside.shuffle_same" : "inside.shuffle_other", { difference: smallText(difference) })),
      orderTables(IN_ORDER, isCausal, t("inside.shuffle_before")),
      orderTables(order, isCausal, t("inside.shuffle_now")),
    ),
  );
}

function orderTables(order, isCausal, title) {
  const { weights, outputs } = exampleTable(order, isCausal);
  const words = order.map((word) => EXAMPLE.tokens[word]);
  const meanings = outputs[0].map((_, index) => t(`inside.meaning_${index + 1}`));
  return h(
    "div",
    { class: "matrices" },
    matrixTable(weights, { label: `${title}: ${t("inside.weight")}`, rowLabels: words, columnLabels: words }),
    matrixTable(outputs, { label: `${title}: ${t("inside.shuffle_output")}`, rowLabels: words, columnLabels: meanings }),
  );
}
