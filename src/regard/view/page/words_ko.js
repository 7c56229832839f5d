/** What the shell, Translate and Inside say in Korean. */

export const wordsKorean = {
  "shell.views": "Views",
  "shell.model": "Model",
  "shell.no_model": "no model yet",
  "shell.language": "Language",
  "shell.theme": "Theme: {theme}",
  "shell.theme.auto": "as the system has it",
  "shell.theme.light": "light",
  "shell.theme.dark": "dark",
  "saving.label": "Save the picture",
  "saving.svg": "Save as SVG",
  "saving.png": "Save as PNG",
  "map.keys": "Arrow keys move from cell to cell.",
  "map.hidden": "hidden",
};
