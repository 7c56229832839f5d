/** Pieces of words as people read them, and what their signs mean. */

import { h } from "./make.js";
import { t } from "./text.js";

const PRINTABLE_BYTE = /^<0x([2-7][0-9A-F])>$/; // as sentencepiece writes a letter that it has no piece for

/** A piece with its letter in the place of a byte: "<0x4E>" is "‹N›"; bytes that spell a letter only with others stay as they are. */
export function readablePiece(piece) {
  const byte = PRINTABLE_BYTE.exec(piece);
  const code = byte && parseInt(byte[1], 16);
  return code > 0x20 && code < 0x7f ? `‹${String.fromCharCode(code)}›` : piece;
}

/** A piece without the mark of a word's beginning, unless it is nothing else. */
export function pieceLabel(piece) {
  return piece.length > 1 ? readablePiece(piece).replace(/^▁/u, "") : piece;
}

/** Whether a piece is some of a word, not a mark or a sign of the vocabulary's own. */
export function hasLetters(piece) {
  const label = pieceLabel(piece);
  return !/^<.+>$/u.test(label) && /[\p{L}\p{N}]/u.test(label);
}

/** What the signs among labels mean: `signs` of "▁" and "‹›"; null where there are none. */
export function signsNote(pieces, signs = ["▁", "‹›"]) {
  const spelled = pieces.map(readablePiece).find((label, index) => label !== pieces[index]);
  const told = [
    signs.includes("▁") && pieces.includes("▁") && t("pieces.mark"),
    spelled && t("pieces.byte", { spelled }),
  ].filter(Boolean);
  return told.length ? h("p", { class: "faint small signs" }, told.join(" ")) : null;
}
