// @ts-check
/** The end of the model: the output layer compares h with every token of the vocabulary, and the softmax gives probabilities. */

import { t } from "../../core/i18n.js";
import { h } from "../../core/ui.js";
import { largestDifference } from "../../math/attention.js";
import { ACTIVATIONS, outputProbabilities } from "../../math/block.js";
import { readableToken } from "../../math/tokens.js";
import { BLOCK_FORMULAS } from "../formula.js";
import { KeyTable, NormTable } from "../number_table.js";
import { numberSpan } from "../number_text.js";
import { VectorList } from "../vector_bar_list.js";
import { dotTerms, subscript, WrittenSum } from "../written_sum.js";
import { queryLabel, StepCard } from "./step_card.js";

/** @import { ActivationName, Block, OutputLayer } from "../../math/block.js" */
/** @import { KeyColumn } from "../number_table.js" */
/** @import { CardProps } from "./step_card.js" */

/**
 * What an encoder-only model does before its output layer.
 * @param {CardProps} props
 */
export function HeadCard({ step, number, isHalf }) {
  const { head, sublayers } = /** @type {Block & { head: NonNullable<Block["head"]> }} */ (step.detail.block);
  const token = queryLabel(step);
  const activation = ACTIVATIONS[/** @type {ActivationName} */ (head.activation)].label;
  const title = t("block.head_title");
  const formula = BLOCK_FORMULAS.head({ activation, from: sublayers[0].pre_norm ? "z" : "x" });
  const rows = [
    { letter: "W", token, values: head.dense_output },
    { letter: activation, token, values: head.norm.x },
    { letter: "h", token, values: head.norm.output },
  ];
  return h(
    StepCard,
    { number, title, formula, text: t("block.head_text", { activation }), isHalf },
    h(VectorList, { rows }),
    h(NormTable, { norm: head.norm, from: activation, to: "h", caption: title }),
  );
}

/**
 * Whether the output layer reads the output of the last norm divided by the root of its width, as in T5.
 * @param {Block | null} block
 * @param {OutputLayer} output
 */
function isDivided(block, { hidden }) {
  if (!block?.last_norm || block.head) return false;
  const normed = block.last_norm.output;
  return largestDifference(hidden, normed) > 0.01 * Math.max(...normed.map(Math.abs));
}

/**
 * The likeliest tokens, and the one that was said (or, in an encoder-only model, that stands here).
 * @param {CardProps} props
 */
export function CandidatesCard({ step, number }) {
  const { detail, choice, onChange } = step;
  const output = /** @type {OutputLayer} */ (detail.prediction);
  const { tokens } = output;
  const isGiven = detail.layer.queries === "source"; // the model reads the token; it does not write it
  const { logits, probabilities } = outputProbabilities(output);
  const said = tokens.findIndex(({ is_chosen }) => is_chosen);
  const chosen = choice.token ?? Math.max(0, said);
  const mark = `◀ ${t(isGiven ? "block.stands_mark" : "block.said_mark")}`;
  const title = t("block.spoken_title");
  const spoken = t(isGiven ? "block.spoken_text_stands" : "block.spoken_text_said", {
    vocabulary: output.vocabulary.toLocaleString("en"),
  });
  const width = output.hidden.length;
  const text = isDivided(detail.block, output) ? `${t("block.hidden_divided", { width })} ${spoken}` : spoken;
  /** @type {KeyColumn[]} */
  const columns = [
    { title: t("block.rank"), values: tokens.map(({ rank }) => String(rank)), kind: "text" },
    { title: t("block.logit"), values: logits },
    { title: t("block.probability"), values: probabilities, kind: "weight" },
    { title: t("block.which"), values: tokens.map(({ is_chosen }) => (is_chosen ? mark : "")), kind: "text" },
  ];
  return h(
    StepCard,
    { number, title, formula: BLOCK_FORMULAS.output(), text },
    h(VectorList, { rows: [{ letter: "h", token: queryLabel(step), values: output.hidden }] }),
    h(
      "div",
      { class: "side-by-side" },
      h(
        "div",
        { class: "stack spoken" },
        h(KeyTable, {
          labels: tokens.map(({ piece }) => piece),
          keys: tokens.map((_, index) => index),
          chosen,
          onChoose: (/** @type {number} */ index) => onChange({ token: String(index) }),
          columns,
          caption: title,
          heading: t("block.token"),
          labelOf: readableToken, // with ▁: "▁the" and "the" are two tokens
        }),
        h("p", { class: "total" }, t("block.log_total"), " ", numberSpan(output.log_partition)),
      ),
      h(WrittenLogit, { output, chosen, logit: logits[chosen] }),
    ),
  );
}

/** @param {{ output: OutputLayer, chosen: number, logit: number }} props */
function WrittenLogit({ output, chosen, logit }) {
  const { weight, bias, piece } = output.tokens[chosen];
  const terms = weight
    ? dotTerms(weight, output.hidden, (index) => `w${subscript(index + 1)} h${subscript(index + 1)}`)
    : [];
  const first = bias ? [{ label: t("inside.bias"), parts: [], value: bias }] : [];
  return h(
    "div",
    { class: "stack" },
    h("h3", null, t("block.logit_of", { token: readableToken(piece) })),
    terms.length > 0 && h(WrittenSum, { terms: [...first, ...terms], total: logit, label: t("block.logit") }),
  );
}
