// @ts-check
/** Inside: the arithmetic of attention, step by step; first a worked example by hand, then the reader's sentence and model. */

import { Lead, Segmented } from "../../components/controls.js";
import { t } from "../../core/i18n.js";
import { h } from "../../core/ui.js";
import { OwnSentence } from "./own_sentence.js";
import { WorkedExample } from "./worked_example.js";

/** @import { Store } from "../../core/store.js" */

/** What another mode does not keep. */
const OF_ONE_MODE = { query: "", key: "", keys: "", unmasked: "" };

export const insideView = { id: "inside", title: "inside.title", View: Inside };

/** @param {{ store: Store }} props */
function Inside({ store }) {
  const isOwn = store.url.value.mode === "own";
  return h(
    "div",
    { class: "view inside" },
    h(Lead, { title: t("inside.heading") }, t("inside.lead")),
    h(
      "div",
      null,
      h(Segmented, {
        label: t("inside.modes"),
        options: [
          ["example", t("inside.mode_example")],
          ["own", t("inside.mode_own")],
        ],
        value: isOwn ? "own" : "example",
        onChange: (/** @type {string} */ mode) => store.set({ mode, ...OF_ONE_MODE }),
      }),
    ),
    isOwn ? h(OwnSentence, { store }) : h(WorkedExample, { store }),
  );
}
