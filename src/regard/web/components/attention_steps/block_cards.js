// @ts-check
/** The steps before and after an attention in its block: where x comes from, Add & Norm, and where the result goes. */

import { t } from "../../core/i18n.js";
import { h } from "../../core/ui.js";
import { BLOCK_FORMULAS } from "../formula.js";
import { NormTable, NumberTable } from "../number_table.js";
import { VectorList } from "../vector_bar_list.js";
import { InnerCard, OuterCard } from "./feed_forward.js";
import { CandidatesCard, HeadCard } from "./output_layer.js";
import { isRecurrent, queryLabel, StepCard } from "./step_card.js";

/** @import { Component } from "../../core/ui.js" */
/** @import { Block, Norm, Sublayer } from "../../math/block.js" */
/** @import { CardProps, Detail, Step } from "./step_card.js" */

/** @typedef {"embedding" | "attention" | "feed-forward" | "last"} NormPlace what a layer norm stands before or after */
/** @typedef {{ id: string, Card: Component<any>, isHalf?: boolean, isWide?: boolean } & Record<string, any>} StepEntry a card and its own props */

const NORM_TITLES = /** @type {const} */ ({
  embedding: "block.norm_title_embedding",
  attention: "block.norm_title_attention",
  "feed-forward": "block.norm_title_feed_forward",
  last: "block.norm_title_last",
});
const OTHER_TITLES = /** @type {const} */ ({
  "self-attention": "block.before_self_attention_title",
  recurrence: "block.before_recurrence_title",
  "cross-attention": "block.after_cross_attention_title",
});
const OTHER_TEXTS = /** @type {const} */ ({
  "self-attention": "block.before_self_attention_text",
  recurrence: "block.before_recurrence_text",
  "cross-attention": "block.after_cross_attention_text",
});

/**
 * The steps from the token to x.
 * @param {Detail} detail
 * @returns {StepEntry[]}
 */
export function cardsBefore({ block }) {
  if (!block) return [];
  const own = block.sublayers[block.attention_sublayer];
  return inPairs([
    { id: "x", Card: block.embedding ? EmbeddingCard : BelowCard },
    block.embedding?.norm && normEntry(block.embedding.norm, "embedding"),
    ...block.sublayers.slice(0, block.attention_sublayer).map(otherEntry),
    own.pre_norm && normEntry(own.pre_norm, "attention"),
  ]);
}

/**
 * The steps from the attention's output to the end of the block, and to the candidates of the output layer where they follow.
 * @param {Detail} detail
 * @returns {StepEntry[]}
 */
export function cardsAfter(detail) {
  const { block, prediction, layer } = detail;
  if (layer.name === "example") return [];
  const candidates = prediction && { id: "candidates", Card: CandidatesCard, isWide: true };
  if (!block) return inPairs([{ id: "after", Card: isRecurrent(detail) ? RecurrentCard : LeftOutCard }, candidates]);
  const last = block.sublayers[block.sublayers.length - 1];
  return inPairs([
    addEntry(block.sublayers[block.attention_sublayer]),
    ...block.sublayers.slice(block.attention_sublayer + 1, -1).map(otherEntry),
    last.pre_norm && normEntry(last.pre_norm, "feed-forward"),
    { id: "inner", Card: InnerCard },
    { id: "outer", Card: OuterCard },
    addEntry(last),
    block.last_norm && normEntry(block.last_norm, "last"),
    block.head && { id: "head", Card: HeadCard, isWide: true },
    candidates ?? { id: "upward", Card: UpwardCard },
  ]);
}

/**
 * @param {Norm} norm
 * @param {NormPlace} where
 * @returns {StepEntry}
 */
function normEntry(norm, where) {
  return { id: `norm-${where}`, Card: NormCard, norm, where, isWide: true };
}

/**
 * @param {Sublayer} sub
 * @returns {StepEntry}
 */
function addEntry(sub) {
  return {
    id: `add-${sub.kind === "feed-forward" ? "network" : "own"}`,
    Card: AddCard,
    sub,
    isWide: Boolean(sub.post_norm),
  };
}

/**
 * @param {Sublayer} sub
 * @returns {StepEntry}
 */
function otherEntry(sub) {
  return { id: `other-${sub.kind}`, Card: OtherCard, sub, isWide: Boolean(sub.post_norm) };
}

/**
 * Two cards in a row; of an odd number between wide ones, the first has its row alone.
 * @param {(StepEntry | null | undefined | false)[]} entries
 * @returns {StepEntry[]}
 */
export function inPairs(entries) {
  const present = /** @type {StepEntry[]} */ (entries.filter(Boolean));
  /** @type {StepEntry[]} */
  const paired = [];
  let run = /** @type {StepEntry[]} */ ([]);
  const endRun = () => {
    paired.push(...run.map((entry, index) => ({ ...entry, isHalf: run.length % 2 === 0 || index > 0 })));
    run = [];
  };
  for (const { isWide, ...entry } of present) {
    if (!isWide) {
      run.push(entry);
      continue;
    }
    endRun();
    paired.push({ ...entry, isHalf: false });
  }
  endRun();
  return paired;
}

/**
 * The letter of the residual stream: x where sub-layers take it as it is, z where it is normalised for them.
 * @param {Block} block
 */
function streamLetter({ sublayers }) {
  return sublayers[0].pre_norm ? "z" : "x";
}

/** @param {Step} step */
function blockOf({ detail }) {
  return /** @type {Block} */ (detail.block);
}

/** @param {CardProps} props */
function EmbeddingCard({ step, number, isHalf }) {
  const { detail } = step;
  const block = blockOf(step);
  const { token, scale, position, output, norm } = /** @type {import("../../math/block.js").Embedding} */ (
    block.embedding
  );
  const isScaled = scale !== 1;
  const scaled = token.map((value) => value * scale);
  const stream = norm ? "e" : streamLetter(block);
  const label = queryLabel(step);
  const sum = scaled.map((value, index) => value + (position?.[index] ?? 0));
  const columns = [
    { title: "E", values: token },
    ...(isScaled ? [{ title: `× √${token.length}`, values: scaled }] : []),
    ...(position ? [{ title: "+ p", values: position }] : []),
    { title: `= ${stream}`, values: sum },
  ];
  const place = detail.query_index;
  const elsewhere = detail.position_bias ? "block.embedding_relative" : "block.embedding_unplaced";
  const positionText = position
    ? t("block.embedding_position", { position: place })
    : t(detail.is_rotary ? "block.embedding_rotary" : elsewhere);
  const title = t("block.embedding_title");
  const text = `${t("block.embedding_text", { token: label, width: token.length })} ${positionText}`;
  const formula = BLOCK_FORMULAS.embedding({ stream, isScaled, hasPosition: Boolean(position) });
  const rows = [
    { letter: "E", token: label, values: token },
    position && { letter: "p", token: place, values: position },
    { letter: stream, token: label, values: output },
  ];
  return h(
    StepCard,
    { number, title, formula, text, isHalf },
    h(VectorList, { rows }),
    h(NumberTable, { columns, caption: title }),
  );
}

/**
 * Above the first block x is the output of the block below; a patch of an image comes from the image encoder's first layer.
 * @param {CardProps} props
 */
function BelowCard({ step, number, isHalf }) {
  const block = blockOf(step);
  const { x } = block.sublayers[0];
  const text =
    block.number === 0 ? t("block.below_eye") : t("block.below_text", { number: block.number, width: x.length });
  return h(
    StepCard,
    { number, title: t("block.below_title"), text, isHalf },
    h(VectorList, { rows: [{ letter: streamLetter(block), token: queryLabel(step), values: x }] }),
    h(VisitButton, { step, layer: block.previous_block, label: t("block.see_below") }),
  );
}

/** @param {CardProps & { norm: Norm, where: NormPlace }} props */
function NormCard({ step, number, isHalf, norm, where }) {
  const [from, to] = normLetters(step, where);
  const title = t(NORM_TITLES[where]);
  const token = queryLabel(step);
  const rows = [
    { letter: from, token, values: norm.x },
    { letter: to, token, values: norm.output },
  ];
  return h(
    StepCard,
    { number, title, formula: BLOCK_FORMULAS.norm({ from, to }), text: t("block.norm_text"), isHalf },
    h(VectorList, { rows }),
    h(NormTable, { norm, from, to, caption: title }),
  );
}

/**
 * What is normalised and what comes of it: x enters an attention, y a feed-forward network, h the output layer, m is the memory.
 * @param {Step} step
 * @param {NormPlace} where
 */
function normLetters(step, where) {
  const block = blockOf(step);
  if (where === "embedding") return ["e", streamLetter(block)];
  if (where === "attention") return ["z", "x"];
  if (where === "feed-forward") return ["z", "y"];
  return ["z", block.head ? "z" : step.detail.prediction ? "h" : "m"];
}

/**
 * The residual connection, and with post-norm the layer norm after it.
 * @param {CardProps & { sub: Sublayer }} props
 */
function AddCard({ step, number, isHalf, sub }) {
  const isNetwork = sub.kind === "feed-forward";
  const normTitle = t(isNetwork ? "block.add_norm_title_network" : "block.add_norm_title");
  const plainTitle = t(isNetwork ? "block.add_title_network" : "block.add_title");
  const title = sub.post_norm ? normTitle : plainTitle;
  const text = t(sub.post_norm ? "block.add_norm_text" : "block.add_text");
  return h(
    StepCard,
    { number, title, formula: addFormula(step, sub), text, isHalf },
    h(Addition, { step, sub, caption: title }),
  );
}

/**
 * Another sub-layer of the same block: its output, and how to see its arithmetic.
 * @param {CardProps & { sub: Sublayer }} props
 */
function OtherCard({ step, number, isHalf, sub }) {
  const kind = /** @type {keyof typeof OTHER_TITLES} */ (sub.kind);
  const title = t(OTHER_TITLES[kind]);
  return h(
    StepCard,
    { number, title, formula: addFormula(step, sub), text: t(OTHER_TEXTS[kind]), isHalf },
    h(VectorList, { rows: [{ letter: outputLetter(sub), token: queryLabel(step), values: sub.output }] }),
    h(VisitButton, { step, layer: sub.attention, label: t("block.see_other") }),
    h(Addition, { step, sub, caption: title }),
  );
}

/** @param {Sublayer} sub */
function outputLetter({ kind }) {
  return kind === "feed-forward" ? "f" : "o";
}

/**
 * @param {Step} step
 * @param {Sublayer} sub
 */
function addFormula(step, sub) {
  const letters = { stream: streamLetter(blockOf(step)), output: outputLetter(sub) };
  return sub.post_norm ? BLOCK_FORMULAS.addNorm(letters) : BLOCK_FORMULAS.add(letters);
}

/** @param {{ step: Step, sub: Sublayer, caption: string }} props */
function Addition({ step, sub, caption }) {
  const stream = streamLetter(blockOf(step));
  const norm = sub.post_norm;
  const columns = [
    { title: stream, values: sub.x },
    { title: `+ ${outputLetter(sub)}`, values: sub.output },
    { title: norm ? "=" : `= ${stream}`, values: sub.x.map((value, index) => value + sub.output[index]) },
  ];
  return h(
    "div",
    { class: "stack" },
    h(VectorList, { rows: [{ letter: stream, token: queryLabel(step), values: norm?.output ?? sub.residual_sum }] }),
    norm
      ? h(NormTable, { norm, from: stream, to: stream, caption, before: columns })
      : h(NumberTable, { columns, caption }),
  );
}

/**
 * The end of a block that is not the end of the model.
 * @param {CardProps} props
 */
function UpwardCard({ step, number, isHalf }) {
  const block = blockOf(step);
  const lastText = t(step.detail.layer.queries === "image" ? "block.upward_eye" : "block.upward_memory");
  const text = block.is_last ? lastText : t("block.upward_above", { number: block.number + 2 });
  return h(
    StepCard,
    { number, title: t("block.upward_title"), text, isHalf },
    h(VisitButton, { step, layer: block.next_block, label: t("block.see_above") }),
  );
}

/**
 * An RNN has no Add & Norm: the card says what it has instead.
 * @param {CardProps} props
 */
function RecurrentCard({ step, number, isHalf }) {
  const { prediction } = step.detail;
  return h(
    StepCard,
    {
      number,
      title: t("block.joined_title"),
      formula: BLOCK_FORMULAS.recurrent(),
      text: t("block.joined_text"),
      isHalf,
    },
    prediction && h(VectorList, { rows: [{ letter: "h", token: queryLabel(step), values: prediction.hidden }] }),
  );
}

/** @param {CardProps} props */
function LeftOutCard({ number, isHalf }) {
  return h(StepCard, { number, title: t("block.left_out_title"), text: t("block.left_out_text"), isHalf });
}

/**
 * A way to another attention's arithmetic, where the view has one.
 * @param {{ step: Step, layer: number | null | undefined, label: string }} props
 */
function VisitButton({ step, layer, label }) {
  const { onVisit } = step;
  if (!onVisit || layer === null || layer === undefined) return null;
  return h("button", { type: "button", class: "link visit", onClick: () => onVisit(layer) }, label);
}
