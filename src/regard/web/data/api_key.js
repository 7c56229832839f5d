// @ts-check
/** The API key of a server that requires one, kept for as long as the tab is open. The shell shows the dialog. */

import { signal } from "../core/ui.js";

/** @typedef {ReturnType<typeof createApiKey>} ApiKey */
/** @typedef {{ isWrong: boolean, accept: (key: string) => void }} KeyRequest the dialog that the reader has to answer */

const STORAGE = "regard.key";

export function createApiKey() {
  let key = storedKey();
  const request = signal(/** @type {KeyRequest | null} */ (null));
  let renewal = /** @type {Promise<string> | null} */ (null);
  return {
    value: () => key,
    /** What the dialog shows; null while no key is needed. */
    request,
    /**
     * Another key than the refused one. All requests that wait at the same time share one dialog.
     * @param {string} refused
     * @returns {Promise<string>}
     */
    renew(refused) {
      if (key !== refused) return Promise.resolve(key);
      renewal ??= new Promise((resolve) => {
        request.value = {
          isWrong: refused !== "",
          accept(given) {
            key = given;
            storeKey(given);
            request.value = null;
            renewal = null;
            resolve(given);
          },
        };
      });
      return renewal;
    },
  };
}

/** @param {string} key */
function storeKey(key) {
  try {
    sessionStorage.setItem(STORAGE, key);
  } catch {
    return; // the dialog comes again after the next reload
  }
}

function storedKey() {
  try {
    return sessionStorage.getItem(STORAGE) ?? "";
  } catch {
    return "";
  }
}
