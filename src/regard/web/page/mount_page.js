// @ts-check
/** Put the page into an element: the same for a server, a file and a notebook. */

import { Shell } from "../components/shell.js";
import { LANGUAGES, language } from "../core/i18n.js";
import { createStore, persist } from "../core/store.js";
import { followSystemTheme, THEMES, theme } from "../core/theme.js";
import { h, render } from "../core/ui.js";
import { createTraces } from "../data/traces.js";

/** @import { Language } from "../core/i18n.js" */
/** @import { ViewDefinition } from "../components/shell.js" */
/** @import { ApiKey } from "../data/api_key.js" */
/** @import { Backend } from "../data/backend.js" */

const LANGUAGE_CODES = /** @type {Language[]} */ (Object.keys(LANGUAGES));

/**
 * @param {HTMLElement} root
 * @param {{ data: Backend, views: ViewDefinition[], apiKey?: ApiKey | null, ownsDocument?: boolean }} options
 *   ownsDocument: the address and the title of the document are the page's
 * @returns {() => void} how to end it
 */
export function mountPage(root, { data, views, apiKey = null, ownsDocument = false }) {
  language.value = navigator.language.startsWith("ko") ? "ko" : "en";
  const ends = [followSystemTheme(), persist("theme", theme, THEMES), persist("language", language, LANGUAGE_CODES)];
  const store = createStore(data, createTraces(data), { usesUrl: ownsDocument });
  root.replaceChildren(); // what was shown while the page was loading
  render(h(Shell, { store, views, apiKey, ownsDocument }), root);
  return () => {
    render(null, root);
    store.dispose();
    for (const end of ends) end();
  };
}
