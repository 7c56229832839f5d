/** The formulas of attention, in MathML. */

import { h, math } from "./make.js";

export const mathName = (text) => math("mi", null, text);
export const mathVector = (text) => math("mi", { mathvariant: "normal", class: "vector" }, text);
export const mathSign = (text) => math("mo", null, text);
export const mathUnder = (whole, index) => math("msub", null, whole, index);
export const mathRow = (...parts) => math("mrow", null, ...parts);
export const mathRoot = (inner) => math("msqrt", null, inner);
export const mathFraction = (above, below) => math("mfrac", null, above, below);
export const mathPower = (whole, exponent) => math("msup", null, whole, exponent);
export const mathSum = (index) => math("munder", null, mathSign("∑"), mathName(index));
const mathKey = (letter) => mathUnder(mathVector(letter), mathName("j"));

/** A formula as a block of its own; the page's words say the same to those who cannot see it. */
export function mathBlock(...parts) {
  return math("math", { display: "block", class: "formula" }, mathRow(...parts));
}

/** q, k and v, each as its matrix times x; where a layer has them, biases are added. */
function projectionsBlock(isBiased) {
  const one = (result, letter, input, end) => {
    const bias = isBiased && [mathSign("+"), mathUnder(mathVector("b"), mathName(letter))];
    return math("math", null, mathRow(result, mathSign("="), mathUnder(mathName("W"), mathName(letter)), input, bias, end));
  };
  return h(
    "div",
    { class: "formula formulas" },
    one(mathVector("q"), "Q", mathVector("x"), mathSign(",")),
    one(mathKey("k"), "K", mathKey("x"), mathSign(",")),
    one(mathKey("v"), "V", mathKey("x")),
  );
}

const FORMULAS = {
  projections: () => projectionsBlock(false),
  biased: () => projectionsBlock(true),
  states: () =>
    mathBlock(
      mathVector("q"),
      mathSign("="),
      mathVector("s"),
      mathSign(","),
      math("mspace", { width: "1em" }),
      mathKey("k"),
      mathSign("="),
      mathKey("v"),
      mathSign("="),
      mathKey("h"),
    ),
  dot: () =>
    mathBlock(
      mathVector("q"),
      mathSign("·"),
      mathKey("k"),
      mathSign("="),
      mathSum("d"),
      mathUnder(mathName("q"), mathName("d")),
      mathUnder(mathName("k"), mathRow(mathName("j"), mathName("d"))),
    ),
  general: () => mathBlock(mathVector("q"), mathSign("·"), mathSign("("), mathName("W"), mathKey("k"), mathSign(")")),
  additive: () =>
    mathBlock(
      mathVector("v"),
      mathSign("·"),
      mathName("tanh"),
      mathSign("("),
      mathUnder(mathName("W"), mathName("q")),
      mathVector("q"),
      mathSign("+"),
      mathUnder(mathName("W"), mathName("k")),
      mathKey("k"),
      mathSign("+"),
      mathVector("b"),
      mathSign(")"),
    ),
  scaling: () =>
    mathBlock(
      mathUnder(mathName("s"), mathName("j")),
      mathSign("="),
      mathFraction(mathRow(mathVector("q"), mathSign("·"), mathKey("k")), mathRoot(mathName("d"))),
    ),
  visibility: () =>
    mathBlock(
      mathUnder(mathName("s"), mathName("j")),
      mathSign("="),
      mathSign("−"),
      mathName("∞"),
      math("mspace", { width: "0.8em" }),
      math("mtext", null, "( j > i )"),
    ),
  softmax: () =>
    mathBlock(
      mathUnder(mathName("a"), mathName("j")),
      mathSign("="),
      mathFraction(
        mathPower(mathName("e"), mathUnder(mathName("s"), mathName("j"))),
        mathRow(mathSum("m"), mathPower(mathName("e"), mathUnder(mathName("s"), mathName("m")))),
      ),
    ),
  context: () => mathBlock(mathVector("c"), mathSign("="), mathSum("j"), mathUnder(mathName("a"), mathName("j")), mathKey("v")),
  output: () =>
    mathBlock(
      mathVector("o"),
      mathSign("="),
      mathSum("h"),
      mathUnder(mathName("W"), mathRow(mathName("O"), mathSign(","), mathName("h"))),
      mathUnder(mathVector("c"), mathName("h")),
      mathSign("+"),
      mathVector("b"),
    ),
};

/** The formula of a step. */
export function formulaOf(step) {
  return FORMULAS[step]();
}
