// @ts-check
/** Korean particles: which form a particle takes after a word depends on the sound that the word ends in. */

const FIRST_SYLLABLE = 0xac00; // 가
const LAST_SYLLABLE = 0xd7a3; // 힣
const FINALS = 28; // endings of a syllable; 0 is none
const RIEUL = 8; // the ending ㄹ, after which 으로 is 로
const OTHER = 1; // any other ending
const DIGIT_FINALS = [OTHER, RIEUL, 0, OTHER, 0, 0, OTHER, RIEUL, RIEUL, 0]; // how 영, 일, 이 … 구 end

/**
 * The form that follows the word: `closed` after a final consonant, else `open`.
 * @param {string} word
 * @param {string} closed
 * @param {string} open
 */
export function particle(word, closed, open) {
  const final = finalOf(word.normalize("NFC").replace(/[^\p{L}\p{N}]+$/u, ""));
  return final === 0 || (closed === "으로" && final === RIEUL) ? open : closed;
}

/** @param {string} word */
function finalOf(word) {
  const last = word.at(-1) ?? "";
  const code = last.charCodeAt(0);
  if (code >= FIRST_SYLLABLE && code <= LAST_SYLLABLE) return (code - FIRST_SYLLABLE) % FINALS;
  if (/[0-9]/.test(last)) return DIGIT_FINALS[Number(last)];
  if (/l$/i.test(word)) return RIEUL;
  return /[mn]$|ng$/i.test(word) ? OTHER : 0; // English words that Korean always writes with a final consonant
}
