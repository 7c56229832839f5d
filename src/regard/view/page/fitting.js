/** Pictures that fit the room they are given, and how much room a text takes. */

/** Call `draw(width)` now and whenever the node's width changes; returns how to stop. */
export function whenWidthChanges(node, draw) {
  let last = 0;
  const observer = new ResizeObserver(() => {
    const width = Math.floor(node.clientWidth);
    if (width > 0 && width !== last) draw((last = width));
  });
  observer.observe(node);
  return () => observer.disconnect();
}

/** About how many pixels a text takes at a font size: wide letters (Hangul, Hanja, kana) take a whole em. */
export function widthOfText(text, size = 12) {
  let ems = 0;
  for (const letter of text) ems += /[\u1100-\uffdc]/u.test(letter) ? 0.95 : 0.56;
  return ems * size;
}

/** A text cut to a width, with an ellipsis where something is missing. */
export function cutToWidth(text, room, size = 12) {
  if (widthOfText(text, size) <= room) return text;
  let kept = "";
  for (const letter of text) {
    if (widthOfText(`${kept}${letter}…`, size) > room) break;
    kept += letter;
  }
  return `${kept}…`;
}
