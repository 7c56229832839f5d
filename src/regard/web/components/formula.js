// @ts-check
/** Formulas in MathML: the parts that they are written with, those of attention, and those of the block around it. */

import { h } from "../core/ui.js";

/** @import { ComponentChildren, VNode } from "../core/ui.js" */

/** @param {string} text */
export const name = (text) => h("mi", null, text);
/** @param {string} text */
export const vector = (text) => h("mi", { mathvariant: "normal", class: "vector" }, text);
/** @param {string} text */
export const sign = (text) => h("mo", null, text);
/** @param {string} text */
const word = (text) => h("mtext", null, text);
/** @param {...ComponentChildren} parts */
export const row = (...parts) => h("mrow", null, ...parts);
/** @param {ComponentChildren} base @param {ComponentChildren} index */
export const sub = (base, index) => h("msub", null, base, index);
/** @param {ComponentChildren} base @param {ComponentChildren} exponent */
const power = (base, exponent) => h("msup", null, base, exponent);
/** @param {ComponentChildren} above @param {ComponentChildren} below */
const fraction = (above, below) => h("mfrac", null, above, below);
/** @param {ComponentChildren} inner */
const root = (inner) => h("msqrt", null, inner);
/** @param {string} index */
export const sum = (index) => h("munder", null, sign("∑"), name(index));
/** @param {string} letter a vector of key j */
export const ofKey = (letter) => sub(vector(letter), name("j"));
/** @param {string} index */
export const matrix = (index) => sub(name("W"), name(index));
/** @param {string} width in em */
const space = (width) => h("mspace", { width });
const scoreOfKey = () => sub(name("s"), name("j"));

/**
 * A formula as a block of its own; the text beside it says the same to those who cannot see it.
 * @param {...ComponentChildren} parts
 * @returns {VNode}
 */
export function block(...parts) {
  return h("math", { display: "block", class: "formula" }, row(...parts));
}

/** @param {boolean} isBiased */
function projections(isBiased) {
  /** @type {(result: VNode, letter: string, input: VNode, end: VNode | null) => VNode} */
  const formula = (result, letter, input, end) => {
    const bias = isBiased ? [sign("+"), sub(vector("b"), name(letter))] : null;
    return h("math", null, row(result, sign("="), matrix(letter), input, bias, end));
  };
  return h(
    "div",
    { class: "formula formulas" },
    formula(vector("q"), "Q", vector("x"), sign(",")),
    formula(ofKey("k"), "K", ofKey("x"), sign(",")),
    formula(ofKey("v"), "V", ofKey("x"), null),
  );
}

/** The steps of attention other than the score, which is in score_functions.js. */
export const ATTENTION_FORMULAS = {
  projections: () => projections(false),
  biasedProjections: () => projections(true),
  states: () =>
    block(
      vector("q"),
      sign("="),
      vector("s"),
      sign(","),
      space("1em"),
      ofKey("k"),
      sign("="),
      ofKey("v"),
      sign("="),
      ofKey("h"),
    ),
  scaling: () => block(scoreOfKey(), sign("="), fraction(row(vector("q"), sign("·"), ofKey("k")), root(name("d")))),
  positionBias: () =>
    block(scoreOfKey(), sign("←"), scoreOfKey(), sign("+"), sub(name("b"), row(name("j"), sign("−"), name("i")))),
  visibility: () => block(scoreOfKey(), sign("="), sign("−"), name("∞"), space("0.8em"), word("( j > i )")),
  softmax: () =>
    block(
      sub(name("a"), name("j")),
      sign("="),
      fraction(power(name("e"), scoreOfKey()), row(sum("m"), power(name("e"), sub(name("s"), name("m"))))),
    ),
  context: () => block(vector("c"), sign("="), sum("j"), sub(name("a"), name("j")), ofKey("v")),
  output: () =>
    block(
      vector("o"),
      sign("="),
      sum("h"),
      sub(name("W"), row(name("O"), sign(","), name("h"))),
      sub(vector("c"), name("h")),
      sign("+"),
      vector("b"),
    ),
};

/**
 * @param {string} index
 * @returns {VNode}
 */
const numberedBias = (index) => sub(vector("b"), h("mn", null, index));

/** The steps before and after an attention, each with the letters that its vectors have there. */
export const BLOCK_FORMULAS = {
  /** @param {{ stream: string, isScaled: boolean, hasPosition: boolean }} letters */
  embedding: ({ stream, isScaled, hasPosition }) =>
    block(
      vector(stream),
      sign("="),
      isScaled && root(name("W")),
      sub(vector("E"), word("token")),
      hasPosition && [sign("+"), sub(vector("p"), word("position"))],
    ),
  /** @param {{ from: string, to: string }} letters */
  norm: ({ from, to }) =>
    block(
      vector(to),
      sign("="),
      vector("g"),
      fraction(
        row(vector(from), sign("−"), name("μ")),
        root(row(power(name("σ"), h("mn", null, "2")), sign("+"), name("ε"))),
      ),
      sign("+"),
      vector("b"),
    ),
  /** @param {{ stream: string, output: string }} letters */
  add: ({ stream, output }) => block(vector(stream), sign("←"), vector(stream), sign("+"), vector(output)),
  /** @param {{ stream: string, output: string }} letters */
  addNorm: ({ stream, output }) =>
    block(vector(stream), sign("←"), word("norm"), sign("("), vector(stream), sign("+"), vector(output), sign(")")),
  /** @param {{ activation: string, from: string }} letters */
  feedForward: ({ activation, from }) =>
    block(
      vector("f"),
      sign("="),
      matrix("2"),
      word(activation),
      sign("("),
      matrix("1"),
      vector(from),
      sign("+"),
      numberedBias("1"),
      sign(")"),
      sign("+"),
      numberedBias("2"),
    ),
  /** @param {{ activation: string, from: string }} letters */
  head: ({ activation, from }) =>
    block(
      vector("h"),
      sign("="),
      word("norm"),
      sign("("),
      word(activation),
      sign("("),
      name("W"),
      vector(from),
      sign("+"),
      vector("b"),
      sign(")"),
      sign(")"),
    ),
  recurrent: () =>
    block(
      vector("h"),
      sign("="),
      name("tanh"),
      sign("("),
      name("W"),
      sign("["),
      vector("s"),
      sign(";"),
      vector("c"),
      sign("]"),
      sign("+"),
      vector("b"),
      sign(")"),
    ),
  output: () =>
    block(
      name("P"),
      sign("("),
      name("v"),
      sign(")"),
      sign("="),
      fraction(
        power(name("e"), row(sub(vector("w"), name("v")), sign("·"), vector("h"))),
        row(sum("u"), power(name("e"), row(sub(vector("w"), name("u")), sign("·"), vector("h")))),
      ),
    ),
};
