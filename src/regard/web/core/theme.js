// @ts-check
/** Light or dark. What is drawn with `isDark.value` is drawn again when it changes. */

import { computed, signal } from "./ui.js";

export const THEMES = /** @type {const} */ (["auto", "light", "dark"]);
export const theme = signal(/** @type {"auto" | "light" | "dark"} */ ("auto"));
const systemIsDark = signal(false);
export const isDark = computed(() => (theme.value === "auto" ? systemIsDark.value : theme.value === "dark"));

/** Follow what the system prefers; returns how to end it. */
export function followSystemTheme() {
  const media = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => {
    systemIsDark.value = media.matches;
  };
  follow();
  media.addEventListener("change", follow);
  return () => media.removeEventListener("change", follow);
}
