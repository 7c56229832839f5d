/** Tokens and words of one side of a sentence pair: labels for people, words and their tokens. */

/**
 * One side of a trace: tokens (`pieces`), the token indices of each word, and each word as text.
 * @typedef {{ pieces: string[], word_pieces: number[][], words: string[] }} TokenizedSide
 */
/** @typedef {{ text: string, pieces: number[] }} Word */

const PRINTABLE_BYTE = /^<0x([2-7][0-9A-F])>$/; // sentencepiece's token for a character that has no token of its own
const ANY_BYTE = /^<0x([0-9A-F]{2})>$/;
export const BLANK = /_{2,}|<mask>/; // what an encoder-only model fills in
const SENTENCE_MARKS = ["<s>", "</s>"];

/**
 * A token with its character in place of a byte: "<0x4E>" becomes "‹N›". A byte that is only a part of a character stays.
 * @param {string} token
 */
export function readableToken(token) {
  const byte = PRINTABLE_BYTE.exec(token);
  const code = byte ? Number.parseInt(byte[1], 16) : 0;
  return code > 0x20 && code < 0x7f ? `‹${String.fromCharCode(code)}›` : token;
}

/**
 * A token without the mark of a word's beginning, unless it consists of nothing else.
 * @param {string} token
 */
export function tokenLabel(token) {
  return token.length > 1 ? readableToken(token).replace(/^▁/u, "") : token;
}

/**
 * Whether a token is a part of a word, not punctuation or a special token.
 * @param {string} token
 */
export function hasLetters(token) {
  const label = tokenLabel(token);
  return !/^<.+>$/u.test(label) && /[\p{L}\p{N}]/u.test(label);
}

/**
 * The signs among labels that need an explanation: ▁, and the first byte that is shown as ‹character›.
 * @param {string[]} tokens
 * @param {(token: string) => string} [labelOf]
 * @returns {{ hasWordMark: boolean, byteLabel: string | null }}
 */
export function tokenSigns(tokens, labelOf = tokenLabel) {
  const byteLabel = tokens.map(readableToken).find((label, index) => label !== tokens[index]) ?? null;
  return { hasWordMark: tokens.some((token) => labelOf(token).startsWith("▁")), byteLabel };
}

/**
 * Tokens joined to text: ▁ is a space, and bytes such as <0xEA> are decoded as UTF-8.
 * @param {string[]} tokens
 */
export function joinTokens(tokens) {
  const bytes = tokens.flatMap((token) => {
    const byte = ANY_BYTE.exec(token);
    return byte ? [Number.parseInt(byte[1], 16)] : [...new TextEncoder().encode(token.replaceAll("▁", " "))];
  });
  return new TextDecoder().decode(Uint8Array.from(bytes)).trim();
}

/**
 * The words of a side without <s> and </s>.
 * @param {TokenizedSide} side
 * @returns {Word[]}
 */
export function realWords(side) {
  return side.word_pieces
    .map((pieces, index) => ({ pieces, text: side.words[index] }))
    .filter(({ pieces }) => !SENTENCE_MARKS.includes(side.pieces[pieces[0]]));
}
