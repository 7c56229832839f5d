/** Which attention gives the word alignment: a layer, a head, and the position at which it is read. */

/** @import { Backend, HeadAlignment, Model, RequestOptions, WordAlignment } from "./backend.js" */

/**
 * `at`: a target word's attention at the position that outputs it, or at the position where it is the input.
 * @typedef {{ layer: number | "mean", head: number | "mean", at: "output" | "input" }} HeadSelection
 */
/** @typedef {HeadSelection & { error: number }} ScoredSelection error: alignment error rate, 0 is perfect */

/** @type {HeadSelection} */
export const MEAN_OF_ALL = { layer: "mean", head: "mean", at: "output" };

/**
 * The alignment error of every layer and head, the lowest first; none where no example has gold links, or where the server
 * cannot measure them: views do without.
 * @param {Backend} data
 * @param {Model} model
 * @param {RequestOptions} options
 * @returns {Promise<ScoredSelection[]>}
 */
export async function headAlignments(data, model, options) {
  if (!model.has_attention || data.isEmbedded) return [];
  try {
    const { examples } = await data.examples({ source: model.source, target: model.target }, options);
    if (!examples.some(({ links }) => links)) return [];
    const { heads } = await data.headAlignment(model.name, options);
    return heads.map((record) => ({ ...selectionOf(record), error: record.aer }));
  } catch (error) {
    if (options.signal?.aborted) throw error;
    return [];
  }
}

/**
 * @param {HeadAlignment} record
 * @returns {HeadSelection}
 */
function selectionOf({ layer, head, at }) {
  return { layer: layer ?? "mean", head: head ?? "mean", at };
}

/**
 * @param {Backend} data
 * @param {string} trace id
 * @param {HeadSelection} selection
 * @param {RequestOptions} options
 * @returns {Promise<WordAlignment>}
 */
export function wordAlignment(data, trace, { layer, head, at }, options) {
  return data.alignment(trace, { layer, head, at }, options);
}

/**
 * @param {HeadSelection} first
 * @param {HeadSelection} second
 */
export function isSameSelection(first, second) {
  return first.layer === second.layer && first.head === second.head && first.at === second.at;
}

/**
 * A selection as a URL parameter: "1.0.input", "mean.mean.output".
 * @param {HeadSelection} selection
 */
export function formatSelection({ layer, head, at }) {
  return `${layer}.${head}.${at}`;
}

/**
 * The selection of a URL parameter; null where it is empty, not well formed, or the model has no such layer or head.
 * @param {string} value
 * @param {number} layers
 * @param {number} heads
 * @returns {HeadSelection | null}
 */
export function parseSelection(value, layers, heads) {
  const match = /^(mean|\d+)\.(mean|\d+)\.(output|input)$/.exec(value);
  if (!match) return null;
  const [layer, head] = match.slice(1, 3).map((part) => (part === "mean" ? part : Number(part)));
  const isWithin = (/** @type {number | string} */ index, /** @type {number} */ count) =>
    index === "mean" || Number(index) < count;
  if (!isWithin(layer, layers) || !isWithin(head, heads)) return null;
  return /** @type {HeadSelection} */ ({ layer, head, at: match[3] });
}
