// @ts-check
/** The dialog for the API key. Nothing on the page works without a key, so it stays until there is one. */

import { t } from "../core/i18n.js";
import { h, useId, useLayoutEffect, useRef } from "../core/ui.js";

/** @import { ApiKey, KeyRequest } from "../data/api_key.js" */

/** @param {{ apiKey: ApiKey }} props */
export function ApiKeyDialog({ apiKey }) {
  const request = apiKey.request.value;
  return request && h(Dialog, { request });
}

/** @param {{ request: KeyRequest }} props */
function Dialog({ request }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const [lead, note, field] = [useId(), useId(), useId()];
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    request.accept(input.current?.value.trim() ?? "");
  };
  const keyInput = h("input", {
    ref: input,
    id: field,
    type: "password",
    autocomplete: "off",
    required: true,
    pattern: " *[!-~]+ *",
    "aria-describedby": request.isWrong ? note : null,
  });
  return h(
    "dialog",
    {
      ref: dialog,
      class: "card key-dialog",
      "aria-labelledby": lead,
      onCancel: (/** @type {Event} */ event) => event.preventDefault(),
    },
    h(
      "form",
      { onSubmit: submit },
      h("p", { id: lead }, t("key.lead")),
      request.isWrong && h("p", { id: note, class: "problem", role: "alert" }, t("key.wrong")),
      h("label", { class: "field", for: field }, t("key.label"), keyInput),
      h("button", { type: "submit", class: "primary" }, t("key.use")),
    ),
  );
}
