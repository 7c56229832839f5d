/** Word alignments from attention: weights between words, links, what a word attends to, how probable it is. */

import { realWords } from "./tokens.js";

/** @import { TokenizedSide } from "./tokens.js" */

/** @typedef {[source: number, target: number]} Link */
/**
 * @typedef {object} Alignment
 * @property {string[]} source_words
 * @property {string[]} target_words
 * @property {number[][]} weights one row for each target word; the rest of a row to 1 went to </s>
 * @property {Link[]} links
 */
/** @typedef {{ weights: ArrayLike<number>, rows: number, columns: number }} TokenMap */
/** @typedef {"source" | "target"} SideName */
/** @typedef {{ side: SideName, index: number }} WordPlace */
/** @typedef {{ word: string, weight: number, isMark?: boolean }} WordWeight `isMark`: not a word of the sentence */

export const FAINTEST = 0.04; // a smaller weight gets no ribbon and no link
const MOST_WORDS = 4;
const LINK_SHARE = 0.5; // of the largest weight of a target word: LINK_THRESHOLD in metrics/alignment.py

/**
 * The links that are worth drawing: a word that attends almost only to </s> has a link to a cell that is nearly empty.
 * @param {Pick<Alignment, "links" | "weights">} alignment
 */
export function drawnLinks({ links, weights }) {
  return links.filter(([source, target]) => weights[target][source] > FAINTEST);
}

/**
 * The weight between a word and a word of the other side.
 * @param {number[][]} weights
 * @param {WordPlace} word
 * @param {number} other
 */
export function weightBetween(weights, { side, index }, other) {
  return (side === "target" ? weights[index]?.[other] : weights[other]?.[index]) ?? 0;
}

/**
 * What a target word attends to, or which target words attend to a source word; the largest weights first. A target word's
 * list also has </s> and the sum of the words left out, so that it adds up to one.
 * @param {Alignment} alignment
 * @param {WordPlace} word
 * @param {string} othersLabel
 * @returns {WordWeight[]}
 */
export function attendedWords({ source_words, target_words, weights }, word, othersLabel) {
  const words = word.side === "target" ? source_words : target_words;
  const most = words
    .map((label, other) => ({ word: label, weight: weightBetween(weights, word, other) }))
    .sort((first, second) => second.weight - first.weight)
    .slice(0, MOST_WORDS);
  if (word.side === "source") return most;
  const total = weights[word.index].reduce((sum, weight) => sum + weight, 0);
  const listed = most.reduce((sum, { weight }) => sum + weight, 0);
  const end = { word: "</s>", weight: Math.max(0, 1 - total), isMark: true };
  const others = { word: othersLabel, weight: Math.max(0, total - listed), isMark: true };
  return words.length > most.length ? [...most, end, others] : [...most, end];
}

/**
 * The probability of a target word: the product of its tokens' probabilities. log_probabilities[i - 1] is that of token i.
 * @param {number[]} logProbabilities
 * @param {number[]} pieces
 */
export function wordProbability(logProbabilities, pieces) {
  return Math.exp(pieces.reduce((sum, piece) => sum + logProbabilities[piece - 1], 0));
}

/**
 * The geometric mean of the tokens' probabilities: how sure a model is of its output, whatever the length.
 * @param {number[]} logProbabilities
 */
export function meanProbability(logProbabilities) {
  return Math.exp(logProbabilities.reduce((sum, value) => sum + value, 0) / Math.max(1, logProbabilities.length));
}

/**
 * The alignment of words by the mean of some attention maps between tokens, as by `pieces_to_words` and
 * `links_from_attention` of metrics/alignment.py.
 * @param {TokenizedSide} source
 * @param {TokenizedSide} target
 * @param {TokenMap[]} maps
 * @param {boolean} isAtInput a word's attention is that of the position where it is the input, not of the one that outputs it
 * @returns {Alignment}
 */
export function alignWords(source, target, maps, isAtInput) {
  const mean = (/** @type {number} */ row, /** @type {number} */ column) =>
    maps.reduce((sum, { weights, columns }) => sum + weights[row * columns + column], 0) / maps.length;
  const [sourceWords, targetWords] = [realWords(source), realWords(target)];
  const shift = isAtInput ? 0 : -1; // the token at i is the output of row i - 1
  const weights = targetWords.map(({ pieces }) =>
    sourceWords.map((word) =>
      wordWeight(
        mean,
        pieces.map((piece) => piece + shift),
        word.pieces,
      ),
    ),
  );
  const links = weights.flatMap((row, index) => linkedTo(row).map((from) => /** @type {Link} */ ([from, index])));
  return {
    source_words: sourceWords.map(({ text }) => text),
    target_words: targetWords.map(({ text }) => text),
    weights,
    links: links.sort((first, second) => first[0] - second[0] || first[1] - second[1]), // as the server sorts them
  };
}

/**
 * The sum over the tokens of a source word, averaged over the rows of a target word.
 * @param {(row: number, column: number) => number} mean
 * @param {number[]} rows
 * @param {number[]} columns
 */
function wordWeight(mean, rows, columns) {
  const sums = rows.map((row) => columns.reduce((sum, column) => sum + mean(row, column), 0));
  return sums.reduce((total, sum) => total + sum, 0) / rows.length;
}

/** @param {number[]} row */
function linkedTo(row) {
  const most = Math.max(...row);
  return row.flatMap((weight, index) => (weight > 0 && weight >= LINK_SHARE * most ? [index] : []));
}
