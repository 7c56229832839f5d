// @ts-check
/** How much room a text takes, measured without a browser. */

export const FONT = 'system-ui, "Noto Sans KR", "Noto Sans CJK KR", "Apple SD Gothic Neo", "Malgun Gothic", sans-serif';

/**
 * About how many pixels a text takes; wide letters (Hangul, Hanja, kana) take a whole em, signs and m nearly one.
 * @param {string} text
 * @param {number} size
 */
export function textWidth(text, size) {
  let ems = 0;
  for (const letter of text) {
    if (letter > "\u1100") ems += 0.98;
    else ems += /[mwMW<>@%&_]/.test(letter) ? 0.88 : 0.6;
  }
  return ems * size;
}

/**
 * A text cut to so many letters, with an ellipsis where something is missing.
 * @param {string} text
 * @param {number} most
 */
export function cut(text, most) {
  const letters = [...text];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
}

/**
 * A text cut to a width in pixels, with an ellipsis where something is missing.
 * @param {string} text
 * @param {number} room
 * @param {number} size
 */
export function fitted(text, room, size) {
  if (textWidth(text, size) <= room) return text;
  let kept = "";
  for (const letter of text) {
    if (textWidth(`${kept}${letter}…`, size) > room) break;
    kept += letter;
  }
  return `${kept}…`;
}
