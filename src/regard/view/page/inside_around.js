/** What stands before and after an attention in its block: where x comes from, Add & Norm, and where it goes. */

import { aroundFormula } from "./around_formulas.js";
import { normNumbers, numbersTable } from "./around_tables.js";
import { narrowStep, widenStep } from "./inside_feed_forward.js";
import { stepCard, vectorRow } from "./inside_parts.js";
import { isState } from "./inside_projections.js";
import { headStep, spokenStep } from "./inside_spoken.js";
import { h } from "./make.js";
import { pieceLabel } from "./pieces.js";
import { t } from "./text.js";

/** The steps from the token to x. Each is a function of the step and its number, as all steps are. */
export function stepsBefore({ inside }) {
  const { block } = inside;
  if (!block) return [];
  const own = block.sub_layers[block.own];
  return inPairs([
    block.embedding ? embeddingStep : belowStep,
    block.embedding?.norm && normMaker(block.embedding.norm, "embedding"),
    ...block.sub_layers.slice(0, block.own).map((one) => otherMaker(one, "before")),
    own.pre_norm && normMaker(own.pre_norm, "attention"),
  ]);
}

/** The steps from the attention's output to the end of the block, and to the words where they follow. */
export function stepsAfter({ inside }) {
  const { block, spoken, layer } = inside;
  if (layer.name === "example") return [];
  if (!block) return inPairs([isState(inside) ? joinedStep : leftOutStep, spoken && wide(spokenStep)]);
  const last = block.sub_layers.at(-1);
  return inPairs([
    addMaker(block.sub_layers[block.own]),
    ...block.sub_layers.slice(block.own + 1, -1).map((one) => otherMaker(one, "after")),
    last.pre_norm && normMaker(last.pre_norm, "feed-forward"),
    widenStep,
    narrowStep,
    addMaker(last),
    block.last_norm && normMaker(block.last_norm, "last"),
    block.head && headStep,
    spoken ? wide(spokenStep) : upwardStep,
  ]);
}

/** A step that needs the page's whole width. */
function wide(make) {
  return Object.assign((step, number) => make(step, number, false), { isWide: true });
}

/** Steps side by side, two in a row; of an odd number between wide ones, the first has its row alone. */
function inPairs(makers) {
  const wanted = makers.filter(Boolean);
  const runFrom = (start) => wanted.slice(start).findIndex(({ isWide }) => isWide);
  let left = 0; // how many of a run are still to come
  return wanted.map((make, index) => {
    if (make.isWide) return make;
    if (left === 0) left = runFrom(index) < 0 ? wanted.length - index : runFrom(index);
    const isAlone = left % 2 === 1 && (index === 0 || wanted[index - 1].isWide);
    left -= 1;
    return (step, number) => make(step, number, !isAlone);
  });
}

/** What runs past the sub-layers is x where they take it as it is, and z where it is normalised for them. */
export function streamLetter({ sub_layers }) {
  return sub_layers[0].pre_norm ? "z" : "x";
}

function embeddingStep({ inside }, number, isHalf) {
  const { token, scale, position, output } = inside.block.embedding;
  const isScaled = scale !== 1;
  const scaled = token.map((value) => value * scale);
  const stream = inside.block.embedding.norm ? "e" : streamLetter(inside.block);
  const label = pieceLabel(inside.query_label);
  const columns = [
    { title: "E", values: token },
    isScaled && { title: `× √${token.length}`, values: scaled },
    position && { title: "+ p", values: position },
    { title: `= ${stream}`, values: scaled.map((value, index) => value + (position?.[index] ?? 0)) },
  ].filter(Boolean);
  const told = position ? "around.embedding_position" : inside.is_rotary ? "around.embedding_rotary" : "around.embedding_unplaced";
  return stepCard(
    {
      number,
      title: t("around.embedding_title"),
      formula: aroundFormula("embedding", { stream, isScaled, hasPosition: Boolean(position) }),
      text: `${t("around.embedding_text", { token: label, width: token.length })} ${t(told, { position: inside.query_index })}`,
      isHalf,
    },
    vectors([
      ["E", label, token],
      position && ["p", inside.query_index, position],
      [stream, label, output],
    ]),
    numbersTable(columns, t("around.embedding_title")),
  );
}

/** Above the first block x is what the block below gave; a picture's places come from the eye. */
function belowStep({ inside, goTo }, number, isHalf) {
  const { block } = inside;
  const isFirst = block.number === 0;
  const text = isFirst ? t("around.below_eye") : t("around.below_text", { number: block.number, width: block.sub_layers[0].x.length });
  return stepCard(
    { number, title: t("around.below_title"), formula: null, text, isHalf },
    vectors([[streamLetter(block), pieceLabel(inside.query_label), block.sub_layers[0].x]]),
    visitButton(goTo, block.below, t("around.see_below")),
  );
}

/** A normalisation as a card; `kind` says before or after what it stands. */
function normMaker(norm, kind) {
  return ({ inside }, number, isHalf) => {
    const [from, to] = normLetters(inside, kind);
    const title = t(`around.norm_title_${kind}`);
    const label = pieceLabel(inside.query_label);
    return stepCard(
      { number, title, formula: aroundFormula("norm", { from, to }), text: t("around.norm_text"), isHalf },
      vectors([
        [from, label, norm.x],
        [to, label, norm.output],
      ]),
      normNumbers(norm, { from, to }, title),
    );
  };
}

/** What is normalised and what comes of it: x enters an attention, y a feed-forward network, h the output layer, m is the memory. */
function normLetters({ block, spoken }, kind) {
  const last = block.head ? "z" : spoken ? "h" : "m";
  return { embedding: ["e", streamLetter(block)], attention: ["z", "x"], "feed-forward": ["z", "y"], last: ["z", last] }[kind];
}

/** The residual connection, and with post-norm the normalisation after it. */
function addMaker(sub) {
  const make = (step, number, isHalf) => {
    const around = sub.kind === "feed-forward" ? "_network" : ""; // no two parts of the page have one name
    const title = t(`around.${sub.post_norm ? "add_norm" : "add"}_title${around}`);
    return stepCard(
      {
        number,
        title,
        formula: addFormula(step, sub),
        text: t(sub.post_norm ? "around.add_norm_text" : "around.add_text"),
        isHalf,
      },
      added(step, sub, title),
    );
  };
  return sub.post_norm ? wide(make) : make;
}

/** Another attention of the same block: what it found, and how to see its arithmetic. */
function otherMaker(sub, when) {
  const name = `around.${when}_${sub.kind}`;
  const make = (step, number, isHalf) =>
    stepCard(
      { number, title: t(`${name}_title`), formula: addFormula(step, sub), text: t(`${name}_text`), isHalf },
      vectors([[foundLetter(sub), pieceLabel(step.inside.query_label), sub.found]]),
      visitButton(step.goTo, sub.attention, t("around.see_other")),
      added(step, sub, t(`${name}_title`)),
    );
  return sub.post_norm ? wide(make) : make;
}

function foundLetter({ kind }) {
  return kind === "feed-forward" ? "f" : "o";
}

function addFormula({ inside }, sub) {
  return aroundFormula(sub.post_norm ? "addNorm" : "add", { stream: streamLetter(inside.block), found: foundLetter(sub) });
}

function added({ inside }, sub, caption) {
  const stream = streamLetter(inside.block);
  const sum = sub.x.map((value, index) => value + sub.found[index]);
  const columns = [
    { title: stream, values: sub.x },
    { title: `+ ${foundLetter(sub)}`, values: sub.found },
    { title: sub.post_norm ? "=" : `= ${stream}`, values: sum },
  ];
  const letters = { from: stream, to: stream };
  return [
    vectors([[stream, pieceLabel(inside.query_label), sub.post_norm?.output ?? sub.added]]),
    sub.post_norm ? normNumbers(sub.post_norm, letters, caption, columns) : numbersTable(columns, caption),
  ];
}

/** The end of a block that is not the end of the model. */
function upwardStep({ inside, goTo }, number, isHalf) {
  const { is_last, number: own, above } = inside.block;
  const kind = is_last ? { picture: "eye" }[inside.layer.queries] ?? "memory" : "above";
  return stepCard(
    { number, title: t("around.upward_title"), formula: null, text: t(`around.upward_${kind}`, { number: own + 2 }), isHalf },
    visitButton(goTo, above, t("around.see_above")),
  );
}

/** An RNN has no Add & Norm: what it does have is said. */
function joinedStep({ inside }, number, isHalf) {
  return stepCard(
    { number, title: t("around.joined_title"), formula: aroundFormula("joined"), text: t("around.joined_text"), isHalf },
    inside.spoken && vectors([["h", pieceLabel(inside.query_label), inside.spoken.hidden]]),
  );
}

function leftOutStep(_step, number, isHalf) {
  return stepCard({ number, title: t("around.left_out_title"), formula: null, text: t("around.left_out_text"), isHalf });
}

function vectors(rows) {
  return h(
    "dl",
    { class: "vectors" },
    rows.filter(Boolean).map(([letter, token, values]) => vectorRow(letter, token, values)),
  );
}

/** A way to another attention's arithmetic, where the view has one. */
function visitButton(goTo, layer, label) {
  if (!goTo || layer === null || layer === undefined) return null;
  return h("button", { type: "button", class: "link visit", "data-focus": `visit-${layer}`, onclick: () => goTo(layer) }, label);
}
