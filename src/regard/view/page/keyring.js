/** The key of a server that asks for one: the page asks its reader for it, and keeps it for as long as the tab is open. */

import { h } from "./make.js";
import { t } from "./text.js";

const PLACE = "regard.key";

/** A key that is asked for inside `root` when it is needed. */
export function makeKeyring(root) {
  let key = recalledKey();
  let asking = null;
  return {
    key: () => key,
    /** A key other than the one that was refused; all who ask at the same time wait for one answer. */
    renew(refused) {
      if (key !== refused) return Promise.resolve(key);
      asking ??= askForKey(root, { isWrong: refused !== "" }).then((given) => {
        asking = null;
        key = given;
        rememberKey(given);
        return given;
      });
      return asking;
    },
  };
}

/** Nothing on the page works without a key, so the question stays until there is one. */
function askForKey(root, { isWrong }) {
  const note = isWrong ? "key-note" : null;
  const input = h("input", { type: "password", id: "key", autocomplete: "off", required: true, pattern: " *[!-~]+ *", "aria-describedby": note });
  return new Promise((resolve) => {
    const answer = (event) => {
      event.preventDefault();
      dialog.remove();
      resolve(input.value.trim());
    };
    const dialog = h(
      "dialog",
      { class: "card key-dialog", "aria-labelledby": "key-lead", oncancel: (event) => event.preventDefault() },
      h(
        "form",
        { onsubmit: answer },
        h("p", { id: "key-lead" }, t("key.lead")),
        isWrong && h("p", { id: note, class: "problem", role: "alert" }, t("key.wrong")),
        h("label", { class: "field", for: "key" }, t("key.label"), input),
        h("button", { type: "submit", class: "primary" }, t("key.use")),
      ),
    );
    root.append(dialog);
    dialog.showModal();
  });
}

function rememberKey(key) {
  try {
    sessionStorage.setItem(PLACE, key);
  } catch {
    return; // it is asked for again after the next reload
  }
}

function recalledKey() {
  try {
    return sessionStorage.getItem(PLACE) ?? "";
  } catch {
    return "";
  }
}
