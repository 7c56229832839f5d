// @ts-check
/**
 * Every attention score, by its name in a config: its formula, its name in Compare, the text of its step and the head of
 * its column. How a score is computed is in math/attention.js.
 */

import { block, matrix, name, ofKey, row, sign, sub, sum, vector } from "./formula.js";

const dot = () =>
  block(
    vector("q"),
    sign("·"),
    ofKey("k"),
    sign("="),
    sum("i"),
    sub(name("q"), name("i")),
    sub(name("k"), row(name("j"), name("i"))),
  );

export const SCORE_FUNCTIONS = /** @type {const} */ ({
  dot: { formula: dot, label: "compare.scoring_dot", text: "inside.score_dot", column: "inside.raw" },
  scaled_dot: {
    formula: dot, // the division is a step of its own
    label: "compare.scoring_scaled_dot",
    text: "inside.score_dot",
    column: "inside.raw",
  },
  general: {
    formula: () => block(vector("q"), sign("·"), sign("("), name("W"), ofKey("k"), sign(")")),
    label: "compare.scoring_general",
    text: "inside.score_general",
    column: "inside.raw_general",
  },
  additive: {
    formula: () =>
      block(
        vector("v"),
        sign("·"),
        name("tanh"),
        sign("("),
        matrix("q"),
        vector("q"),
        sign("+"),
        matrix("k"),
        ofKey("k"),
        sign("+"),
        vector("b"),
        sign(")"),
      ),
    label: "compare.scoring_additive",
    text: "inside.score_additive",
    column: "inside.raw_additive",
  },
});
