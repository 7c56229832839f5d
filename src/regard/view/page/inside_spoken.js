/** The end of the model: the output layer compares with every token, and the softmax makes probabilities of it. */

import { outputWork } from "./around_arithmetic.js";
import { aroundFormula } from "./around_formulas.js";
import { normNumbers } from "./around_tables.js";
import { productTerms } from "./inside_arithmetic.js";
import { activationName } from "./inside_feed_forward.js";
import { numberNode, stepCard, subscript, timesParts, vectorRow, writtenSum } from "./inside_parts.js";
import { keyTable } from "./inside_tables.js";
import { h } from "./make.js";
import { pieceLabel } from "./pieces.js";
import { t } from "./text.js";

/** What a reader does before its output layer. */
export function headStep({ inside }, number, isHalf) {
  const { head, sub_layers } = inside.block;
  const label = pieceLabel(inside.query_label);
  const name = activationName(head.activation);
  return stepCard(
    {
      number,
      title: t("around.head_title"),
      formula: aroundFormula("head", { activation: name, from: sub_layers[0].pre_norm ? "z" : "x" }),
      text: t("around.head_text", { activation: name }),
      isHalf,
    },
    h("dl", { class: "vectors" }, vectorRow("W", label, head.inner), vectorRow(name, label, head.norm.x), vectorRow("h", label, head.norm.output)),
    normNumbers(head.norm, { from: name, to: "h" }, t("around.head_title")),
  );
}

/** The likeliest tokens, and the one that was said. */
export function spokenStep({ inside, choice, change }, number) {
  const { spoken, layer } = inside;
  const isRead = layer.queries === "source";
  const work = outputWork(spoken);
  const said = spoken.tokens.findIndex(({ is_said }) => is_said);
  const chosen = Math.min(choice.spoken ?? Math.max(0, said), spoken.tokens.length - 1);
  const ways = isRead ? "stands" : "said";
  const columns = [
    { title: t("around.rank"), values: spoken.tokens.map(({ rank }) => String(rank)), kind: "text" },
    { title: t("around.logit"), values: work.logits },
    { title: t("around.probability"), values: work.probabilities, kind: "weight" },
    { title: t("around.which"), values: spoken.tokens.map(({ is_said }) => (is_said ? `◀ ${t(`around.${ways}_mark`)}` : "")), kind: "text" },
  ];
  return stepCard(
    {
      number,
      title: t("around.spoken_title"),
      formula: aroundFormula("spoken"),
      text: t(`around.spoken_text_${ways}`, { vocabulary: spoken.vocabulary.toLocaleString("en") }),
    },
    h("dl", { class: "vectors" }, vectorRow("h", pieceLabel(inside.query_label), spoken.hidden)),
    h(
      "div",
      { class: "side-by-side" },
      h(
        "div",
        { class: "stack spoken" },
        keyTable({
          labels: spoken.tokens.map(({ piece }) => piece),
          keys: spoken.tokens.map((_, index) => index),
          chosen,
          choose: (index) => change({ spoken: index }),
          columns,
          caption: t("around.spoken_title"),
          heading: t("around.token"),
          focus: "spoken",
        }),
        h("p", { class: "total" }, t("around.log_total"), " ", numberNode(spoken.log_total)),
      ),
      writtenLogit(spoken, work, chosen),
    ),
  );
}

function writtenLogit({ tokens, hidden }, { logits }, chosen) {
  const { weight, bias, piece } = tokens[chosen];
  const terms = productTerms(weight, hidden).map(({ left, right, product }, index) => ({
    label: `w${subscript(index + 1)} h${subscript(index + 1)}`,
    parts: timesParts(left, right),
    value: product,
  }));
  const first = bias ? [{ label: t("inside.bias"), parts: [], value: bias }] : [];
  const label = t("around.logit_of", { token: pieceLabel(piece) });
  return h("div", { class: "stack" }, h("h3", null, label), writtenSum({ rows: [...first, ...terms], total: logits[chosen], totalLabel: t("around.logit") }));
}
