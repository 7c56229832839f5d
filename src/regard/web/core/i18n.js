// @ts-check
/** Messages in the reader's language, with Korean particles. A component that calls `t` renders again when the language changes. */

import en from "../locales/en.json" with { type: "json" };
import ko from "../locales/ko.json" with { type: "json" };
import { signal } from "./ui.js";

/** @typedef {keyof typeof en} MessageKey */
/** @typedef {"en" | "ko"} Language */

export const LANGUAGES = /** @type {const} */ ({ en: "English", ko: "한국어" });

/** @type {Record<Language, Record<string, string>>} */
const MESSAGES = { en, ko };

// Which form a Korean particle takes after a word depends on the sound that the word ends in.
const FIRST_SYLLABLE = 0xac00; // 가
const LAST_SYLLABLE = 0xd7a3; // 힣
const FINALS = 28; // endings of a syllable; 0 is none
const RIEUL = 8; // the ending ㄹ, after which 으로 is 로
const OTHER = 1; // any other ending
const DIGIT_FINALS = [OTHER, RIEUL, 0, OTHER, 0, 0, OTHER, RIEUL, RIEUL, 0]; // how 영, 일, 이 … 구 end

export const language = signal(/** @type {Language} */ ("en"));

/**
 * The message of a key; {name} is replaced by a value, {name|은/는} by the particle that Korean has after it.
 * @param {MessageKey} key
 * @param {Record<string, string | number>} [values]
 */
export function t(key, values = {}) {
  const pattern = MESSAGES[language.value][key] ?? MESSAGES.en[key] ?? key;
  return pattern.replace(/\{(\w+)(?:\|(\S+?)\/(\S+?))?\}/g, (whole, name, closed, open) => {
    if (!(name in values)) return whole;
    return closed ? particle(String(values[name]), closed, open) : String(values[name]);
  });
}

/**
 * @param {string} key
 * @returns {key is MessageKey}
 */
export function hasMessage(key) {
  return key in MESSAGES.en;
}

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
