/** Which words of one text are not in another: a diff by the longest common subsequence. */

/** @typedef {{ word: string, differs: boolean }} MarkedWord */

/** @param {string} text */
const wordsOf = (text) => text.split(/\s+/u).filter(Boolean);

/**
 * The words of a text; those outside the longest common subsequence with the reference differ.
 * @param {string} text
 * @param {string} reference
 * @returns {MarkedWord[]}
 */
export function markedWords(text, reference) {
  const [words, others] = [wordsOf(text), wordsOf(reference)];
  const lengths = commonLengths(words, others);
  /** @type {MarkedWord[]} */
  const marked = [];
  let other = 0;
  for (let index = 0; index < words.length; ) {
    const isShared = other < others.length && words[index] === others[other];
    if (!isShared && other < others.length && lengths[index][other + 1] >= lengths[index + 1][other]) {
      other += 1;
      continue;
    }
    marked.push({ word: words[index], differs: !isShared });
    index += 1;
    if (isShared) other += 1;
  }
  return marked;
}

/**
 * lengths[i][j]: the longest common subsequence of the words from i and the others from j.
 * @param {string[]} words
 * @param {string[]} others
 */
function commonLengths(words, others) {
  const lengths = Array.from({ length: words.length + 1 }, () => new Uint16Array(others.length + 1));
  for (let i = words.length - 1; i >= 0; i--) {
    for (let j = others.length - 1; j >= 0; j--) {
      const isSame = words[i] === others[j];
      lengths[i][j] = isSame ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  return lengths;
}
