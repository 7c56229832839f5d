// @ts-check
/** The reader's answers, kept in the browser where it allows that: which chapters are done, and what to show on return. */

import { signal } from "../../core/ui.js";

const KEY = "regard.lesson";

/** The answer of each chapter, by its name. */
export const answers = signal(storedAnswers());

/**
 * @param {string} chapter
 * @param {string} guess
 */
export function rememberAnswer(chapter, guess) {
  if (answers.peek()[chapter] === guess) return;
  answers.value = { ...answers.peek(), [chapter]: guess };
  try {
    localStorage.setItem(KEY, JSON.stringify(answers.value));
  } catch {
    // a browser may forbid it
  }
}

/** @returns {Record<string, string>} */
function storedAnswers() {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    const isRecord = stored !== null && typeof stored === "object" && !Array.isArray(stored);
    return isRecord ? Object.fromEntries(Object.entries(stored).filter(([, guess]) => typeof guess === "string")) : {};
  } catch {
    return {};
  }
}
