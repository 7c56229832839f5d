/** The formulas of what stands around an attention, in MathML. */

import { mathBlock, mathFraction, mathName, mathPower, mathRoot, mathRow, mathSign, mathSum, mathUnder, mathVector } from "./inside_formulas.js";
import { math } from "./make.js";

const matrix = (letter) => mathUnder(mathName("W"), mathName(letter));
const numbered = (letter, index) => mathUnder(mathVector(letter), math("mn", null, index));

const AROUND = {
  embedding: ({ stream, isScaled, hasPosition }) =>
    mathBlock(
      mathVector(stream),
      mathSign("="),
      isScaled && mathRoot(mathName("W")),
      mathUnder(mathVector("E"), math("mtext", null, "token")),
      hasPosition && [mathSign("+"), mathUnder(mathVector("p"), math("mtext", null, "position"))],
    ),
  norm: ({ from, to }) =>
    mathBlock(
      mathVector(to),
      mathSign("="),
      mathVector("g"),
      mathFraction(mathRow(mathVector(from), mathSign("−"), mathName("μ")), mathRoot(mathRow(mathPower(mathName("σ"), math("mn", null, "2")), mathSign("+"), mathName("ε")))),
      mathSign("+"),
      mathVector("b"),
    ),
  add: ({ stream, found }) => mathBlock(mathVector(stream), mathSign("←"), mathVector(stream), mathSign("+"), mathVector(found)),
  addNorm: ({ stream, found }) =>
    mathBlock(
      mathVector(stream),
      mathSign("←"),
      math("mtext", null, "norm"),
      mathSign("("),
      mathVector(stream),
      mathSign("+"),
      mathVector(found),
      mathSign(")"),
    ),
  feedForward: ({ activation, from }) =>
    mathBlock(
      mathVector("f"),
      mathSign("="),
      matrix("2"),
      math("mtext", null, activation),
      mathSign("("),
      matrix("1"),
      mathVector(from),
      mathSign("+"),
      numbered("b", "1"),
      mathSign(")"),
      mathSign("+"),
      numbered("b", "2"),
    ),
  head: ({ activation, from }) =>
    mathBlock(
      mathVector("h"),
      mathSign("="),
      math("mtext", null, "norm"),
      mathSign("("),
      math("mtext", null, activation),
      mathSign("("),
      mathName("W"),
      mathVector(from),
      mathSign("+"),
      mathVector("b"),
      mathSign(")"),
      mathSign(")"),
    ),
  joined: () =>
    mathBlock(
      mathVector("h"),
      mathSign("="),
      mathName("tanh"),
      mathSign("("),
      mathName("W"),
      mathSign("["),
      mathVector("s"),
      mathSign(";"),
      mathVector("c"),
      mathSign("]"),
      mathSign("+"),
      mathVector("b"),
      mathSign(")"),
    ),
  spoken: () =>
    mathBlock(
      mathName("P"),
      mathSign("("),
      mathName("v"),
      mathSign(")"),
      mathSign("="),
      mathFraction(
        mathPower(mathName("e"), mathRow(mathUnder(mathVector("w"), mathName("v")), mathSign("·"), mathVector("h"))),
        mathRow(mathSum("u"), mathPower(mathName("e"), mathRow(mathUnder(mathVector("w"), mathName("u")), mathSign("·"), mathVector("h")))),
      ),
    ),
};

/** The formula of a step around an attention, with the letters that it has there. */
export function aroundFormula(step, letters = {}) {
  return AROUND[step](letters);
}
