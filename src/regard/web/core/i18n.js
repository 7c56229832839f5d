// @ts-check
/** Messages in the reader's language. A component that calls `t` is rendered again when the language changes. */

import en from "../locales/en.json" with { type: "json" };
import ko from "../locales/ko.json" with { type: "json" };
import { particle } from "./particles.js";
import { signal } from "./ui.js";

/** @typedef {keyof typeof en} MessageKey */
/** @typedef {"en" | "ko"} Language */

export const LANGUAGES = /** @type {const} */ ({ en: "English", ko: "한국어" });

/** @type {Record<Language, Record<string, string>>} */
const MESSAGES = { en, ko };

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
