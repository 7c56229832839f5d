// @ts-check
/**
 * The part of the address after #, "#heads?model=small&text=a+dog&role=cross": all that a link must restore. Every
 * parameter of it is in one table. A value is text; the empty text means the default, and is not written.
 * `of`: the parameter means nothing to another model, or for another text, and is cleared when that changes.
 */

import { formatList, parseList, withoutPositions } from "../math/intervention_syntax.js";

/** @typedef {{ of?: "model" | "text" | "run" | "chapter", isStep?: "always" | "after the first" }} ParamRule isStep: Back returns to the value before */

/** @satisfies {Record<string, ParamRule>} */
export const PARAMS = {
  view: { isStep: "after the first" },
  model: { isStep: "after the first" }, // name of the chosen model
  text: { isStep: "after the first" }, // sentence, prompt or text with blanks
  present: {}, // 1: large type, without the frame

  // start
  chapter: { isStep: "always" }, // of the lesson; else the first
  guess: { of: "chapter" }, // the reader's answer to its question
  setting: { of: "chapter" }, // state of its experiment: a width, a word, a sentence ...

  // heads
  role: {}, // which attention: cross, encoder-self ...
  map: { of: "model" }, // LAYER/HEAD, LAYER/mean or rollout
  units: {}, // pieces or words
  measure: {}, // of what a map shows: weights, norm or zeroing

  // translate and compare
  target: { of: "text" }, // forced output
  align: { of: "model" }, // LAYER.HEAD.AT: the attention that gives the alignment
  pinned: { of: "text" }, // target.2 or source.0: the word whose links stay
  next: {}, // 1: the next token at each step is shown
  tree: {}, // 1: the beam search is shown as a tree
  beam: {}, // its size
  bucket: {}, // bucket of lengths whose sentences are compared

  // inside, and the steps of Pictures; indices count from 0
  mode: {}, // own: the reader's sentence, else the worked example
  order: {}, // words of the example in another order: 2013
  causal: {}, // 1: later words of the example are hidden
  layer: { of: "model" }, // attention, by its index in the trace
  head: { of: "model" },
  query: { of: "text" },
  key: { of: "text" }, // key whose score is written out; else the one with the largest weight
  keys: {}, // all: every key has a row
  vector: {}, // q, k or v: which projection is written out
  number: {}, // which number of it
  prepared: {}, // which number of W k, with the general score
  context: {}, // which number of the context
  output: {}, // which number of the head's part of the output
  fc1_row: { of: "model" }, // which number of W_1 x in the feed-forward network
  fc2_row: { of: "model" }, // which number of its output
  token: { of: "text" }, // candidate of the output layer; else the one in the output
  step: {}, // the step that is shown alone
  exercise: {}, // 1: results are hidden until the reader asks for one
  lens: {}, // 1: the logit lens is open
  unscaled: {}, // 1: also without scaling
  unmasked: {}, // 1: also without masking

  // positions
  kind: {}, // of encoding: sinusoidal, one_hot ... or the model's own
  length: {},
  width: {},
  rotary: {}, // START.OFFSET of the rotary demonstration

  // language
  prompt: { of: "model" },
  look: { of: "model" },
  temperature: {},

  // pictures
  image: { of: "model" },
  word: { of: "text" },

  // what if, in every view of a model
  what_if: {}, // 1: the card is open
  changes: { of: "model", isStep: "always" }, // interventions, one on each line
  ablation: {}, // what a disabled head gives: zero, mean or uniform
  predict: { of: "text" }, // position whose next token is shown before and after
  needs: {}, // 1: also which head that token needs
  cell: { of: "text" }, // ROW.COLUMN of the map whose weight is edited

  // training
  run: { isStep: "after the first" },
  time: { of: "run" }, // training step whose maps are shown
  probe: { of: "run" }, // sentence or image whose maps are shown
  probe_map: { of: "run" }, // LAYER/HEAD of it
  validation: { of: "run" }, // number of the validation whose samples are shown
};

/** @typedef {keyof typeof PARAMS} ParamName */
/** @typedef {{ [name in ParamName]?: string }} UrlState */

/**
 * The state after a change: parameters that belong to what has changed are cleared.
 * @param {UrlState} state
 * @param {UrlState} changes
 * @returns {UrlState}
 */
export function changedState(state, changes) {
  const isChanged = (/** @type {ParamName} */ name) => name in changes && (changes[name] ?? "") !== (state[name] ?? "");
  const hasText = isChanged("text");
  const isCleared = (/** @type {ParamRule["of"]} */ of) =>
    of !== undefined && (isChanged(of) || (of === "text" && isChanged("model")));
  const kept = Object.fromEntries(Object.entries(state).filter(([name]) => !isCleared(ruleOf(name).of)));
  if (hasText && kept.changes) kept.changes = formatList(withoutPositions(parseList(kept.changes)));
  return { ...kept, ...changes };
}

/**
 * Whether Back has to return to the state before a change: the first choice of a model or a text is not the reader's.
 * @param {UrlState} before
 * @param {UrlState} after
 */
export function isStep(before, after) {
  const names = /** @type {ParamName[]} */ (Object.keys(PARAMS));
  return names.some((name) => {
    const { isStep: when } = ruleOf(name);
    return when && (when === "always" || before[name]) && (before[name] ?? "") !== (after[name] ?? "");
  });
}

/**
 * @param {string} name
 * @returns {ParamRule}
 */
function ruleOf(name) {
  return Object.hasOwn(PARAMS, name) ? PARAMS[/** @type {ParamName} */ (name)] : {};
}

/**
 * An index of the address; null where there is none, or one that is not below the count.
 * @param {string | undefined} text
 * @param {number} count
 */
export function indexParam(text, count) {
  if (!text || !/^\d+$/.test(text)) return null;
  const index = Number(text);
  return index < count ? index : null;
}

/**
 * A number of the address within bounds; the usual one where there is none.
 * @param {string | undefined} text
 * @param {{ min: number, max: number, usual?: number }} bounds
 */
export function numberParam(text, { min, max, usual = min }) {
  return Math.max(min, Math.min(max, Number(text) || usual));
}

/**
 * @param {string} hash
 * @returns {UrlState}
 */
export function parseHash(hash) {
  const [, view, query] = /** @type {RegExpExecArray} */ (/^#?([^?]*)\??(.*)$/s.exec(hash));
  return { view, ...Object.fromEntries(new URLSearchParams(query)) };
}

/** @param {UrlState} state */
export function formatHash({ view = "", ...rest }) {
  const query = new URLSearchParams(Object.entries(rest).filter(([, value]) => value));
  return `#${view}${query.size ? `?${query}` : ""}`;
}
