import assert from "node:assert/strict";
import test from "node:test";
import { markedWords } from "../../src/regard/web/math/text_diff.js";
import {
  hasLetters,
  joinTokens,
  readableToken,
  realWords,
  tokenLabel,
  tokenSigns,
} from "../../src/regard/web/math/tokens.js";
import { reference } from "./close.js";

const SIDE = {
  pieces: ["▁a", "▁", "<0xEA>", "<0xB0>", "<0x80>", "▁dog", "</s>"],
  word_pieces: [[0], [1, 2, 3, 4], [5], [6]],
  words: ["a", "가", "dog", "</s>"],
};

test("a printable byte is shown as its character", () => {
  assert.equal(readableToken("<0x4E>"), "‹N›");
  assert.equal(readableToken("<0x20>"), "<0x20>");
  assert.equal(readableToken("<0xEA>"), "<0xEA>");
  assert.equal(readableToken("▁dog"), "▁dog");
});

test("every byte is shown as Python shows it", () => {
  for (const [token, expected] of Object.entries(reference("byte_tokens.json")))
    assert.equal(readableToken(token), expected);
});

test("a label drops the mark of a word's beginning", () => {
  assert.deepEqual(["▁dog", "▁", "ing"].map(tokenLabel), ["dog", "▁", "ing"]);
});

test("letters are told from marks and special tokens", () => {
  assert.deepEqual(["▁dog", "가", "7", "</s>", "▁", "."].map(hasLetters), [true, true, true, false, false, false]);
});

test("signs that need an explanation are found", () => {
  assert.deepEqual(tokenSigns(["▁a", "b"]), { hasWordMark: false, byteLabel: null });
  assert.deepEqual(tokenSigns(["▁a", "b"], readableToken), { hasWordMark: true, byteLabel: null });
  assert.deepEqual(tokenSigns(["▁", "<0x4E>", "<0x4F>"]), { hasWordMark: true, byteLabel: "‹N›" });
});

test("bytes are joined to the characters that they encode", () => {
  assert.equal(joinTokens(SIDE.pieces.slice(0, 6)), "a 가 dog");
});

test("real words leave out the marks of a sentence", () => {
  assert.deepEqual(
    realWords(SIDE).map(({ text }) => text),
    ["a", "가", "dog"],
  );
});

/** The length of the longest common subsequence, by its definition. */
function commonLength(a, b) {
  if (!a.length || !b.length) return 0;
  if (a[0] === b[0]) return 1 + commonLength(a.slice(1), b.slice(1));
  return Math.max(commonLength(a.slice(1), b), commonLength(a, b.slice(1)));
}

/** Pseudo-random lists of a few words. */
function* wordLists(count) {
  let seed = 7;
  const next = (below) => {
    seed = (seed * 48271) % 2147483647;
    return seed % below;
  };
  for (let index = 0; index < count; index += 1) {
    yield [0, 1].map(() => Array.from({ length: next(7) }, () => ["가", "나", "다"][next(3)]));
  }
}

test("as few words as possible are marked", () => {
  for (const [words, others] of wordLists(200)) {
    const marked = markedWords(words.join(" "), others.join(" "));
    assert.deepEqual(
      marked.map(({ word }) => word),
      words,
    );
    assert.equal(marked.filter(({ differs }) => differs).length, words.length - commonLength(words, others));
  }
});
