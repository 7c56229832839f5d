/**
 * What the page says, in English and Korean. `t("some.key", { count: 3 })` puts values in the place of {count};
 * {count|은/는} is the particle that Korean has after that value.
 */

import { particle } from "./particles.js";
import { wordsEnglish } from "./words_en.js";
import { wordsKorean } from "./words_ko.js";
import { viewsEnglish } from "./views_en.js";
import { viewsKorean } from "./views_ko.js";
import { picturesEnglish } from "./pictures_en.js";
import { picturesKorean } from "./pictures_ko.js";
import { languageEnglish } from "./language_en.js";
import { languageKorean } from "./language_ko.js";

export const LANGUAGES = { en: "English", ko: "한국어" };

const CATALOGUES = {
  en: { ...wordsEnglish, ...viewsEnglish, ...picturesEnglish, ...languageEnglish },
  ko: { ...wordsKorean, ...viewsKorean, ...picturesKorean, ...languageKorean },
};
const spoken = { language: "en", listeners: new Set() };

/** The sentence of that key in the page's language. */
export function t(key, values = {}) {
  const pattern = CATALOGUES[spoken.language][key] ?? CATALOGUES.en[key] ?? key;
  return pattern.replace(/\{(\w+)(?:\|(\S+?)\/(\S+?))?\}/g, (whole, name, closed, open) => {
    if (!(name in values)) return whole;
    return closed ? particle(String(values[name]), closed, open) : String(values[name]);
  });
}

/** Whether there is a sentence of that key. */
export function isSaid(key) {
  return key in CATALOGUES.en;
}

/** The page's language: "en" or "ko". */
export function language() {
  return spoken.language;
}

/** Change the page's language and tell all who listen. */
export function setLanguage(code) {
  if (!(code in CATALOGUES) || code === spoken.language) return;
  spoken.language = code;
  for (const listener of [...spoken.listeners]) listener(code);
}

/** Call back whenever the language changes; returns how to stop it. */
export function onLanguage(listener) {
  spoken.listeners.add(listener);
  return () => spoken.listeners.delete(listener);
}

/** Keys that one language has and another has not. */
export function missingKeys() {
  const [english, korean] = [CATALOGUES.en, CATALOGUES.ko];
  return [...Object.keys(english).filter((key) => !(key in korean)), ...Object.keys(korean).filter((key) => !(key in english))];
}
