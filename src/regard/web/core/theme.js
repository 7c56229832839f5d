// @ts-check
/** Light or dark. What is drawn with `isDark.value` is drawn again when it changes. Paper is light. */

import { computed, signal } from "./ui.js";

export const THEMES = /** @type {const} */ (["auto", "light", "dark"]);
export const theme = signal(/** @type {"auto" | "light" | "dark"} */ ("auto"));
const systemIsDark = signal(false);
const isPrinting = signal(false);
export const isDark = computed(
  () => !isPrinting.value && (theme.value === "auto" ? systemIsDark.value : theme.value === "dark"),
);

/** Follow what the system prefers, and whether the page is being printed; returns how to end it. */
export function followSystemTheme() {
  const ends = [follow("(prefers-color-scheme: dark)", systemIsDark), follow("print", isPrinting)];
  return () => {
    for (const end of ends) end();
  };
}

/**
 * @param {string} query
 * @param {import("./ui.js").Signal<boolean>} state
 */
function follow(query, state) {
  const media = matchMedia(query);
  const update = () => {
    state.value = media.matches;
  };
  update();
  media.addEventListener("change", update);
  return () => media.removeEventListener("change", update);
}
