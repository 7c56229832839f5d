/** Sentences as words: which words of one are not in another, and what pieces spell. Nothing here draws. */

const UNLEARNED = /^▁?<(unk|0x[0-9A-F]{2})>$/;

/** Words of a text, as {word, differs}: those outside the longest common subsequence with the other text differ. */
export function markedWords(text, other) {
  const words = text.split(/\s+/u).filter(Boolean);
  const others = other.split(/\s+/u).filter(Boolean);
  const lengths = commonLengths(words, others);
  const marked = [];
  let i = 0;
  let j = 0;
  while (i < words.length) {
    const isShared = j < others.length && words[i] === others[j];
    if (!isShared && j < others.length && lengths[i][j + 1] >= lengths[i + 1][j]) {
      j++;
      continue;
    }
    marked.push({ word: words[i], differs: !isShared });
    i++;
    if (isShared) j++;
  }
  return marked;
}

/** lengths[i][j]: of the longest common subsequence of words from i and others from j. */
function commonLengths(words, others) {
  const lengths = Array.from({ length: words.length + 1 }, () => new Uint16Array(others.length + 1));
  for (let i = words.length - 1; i >= 0; i--) {
    for (let j = others.length - 1; j >= 0; j--) {
      lengths[i][j] = words[i] === others[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  return lengths;
}

/** The words of a side that its tokenizer has no pieces for: it spells them in bytes, or does not know them at all. */
export function unlearnedWords({ pieces, words, spelled }, text) {
  const typed = text.split(/\s+/u).filter(Boolean);
  const isTyped = typed.length === words.length - 1; // the side ends with </s>; <unk> does not say what it stands for
  return words.flatMap((word, index) => (word.some((piece) => UNLEARNED.test(pieces[piece])) ? [isTyped ? typed[index] : spelled[index]] : []));
}

/** Pieces put together as text: ▁ is a space, and bytes such as <0xEA> are the letters that they spell. */
export function spelledPieces(pieces) {
  const bytes = pieces.flatMap((piece) => {
    const byte = /^<0x([0-9A-F]{2})>$/.exec(piece);
    return byte ? [parseInt(byte[1], 16)] : [...new TextEncoder().encode(piece.replaceAll("▁", " "))];
  });
  return new TextDecoder().decode(Uint8Array.from(bytes)).trim();
}
