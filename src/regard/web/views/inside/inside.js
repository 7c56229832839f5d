// @ts-check
/** Inside: the arithmetic of attention, step by step; first a worked example by hand, then the reader's sentence and model. */

import { CheckBox } from "../../components/attention_steps/switches.js";
import { Segmented } from "../../components/controls.js";
import { hidesResults } from "../../components/exercise.js";
import { Lead } from "../../components/layout.js";
import { t } from "../../core/i18n.js";
import { h, useLayoutEffect } from "../../core/ui.js";
import { OwnSentence } from "./own_sentence.js";
import { WorkedExample } from "./worked_example.js";

/** @import { Store } from "../../core/store.js" */

/** What another mode does not keep. */
const OF_ONE_MODE = { query: "", key: "", keys: "", unmasked: "", step: "" };

export const insideView = { id: "inside", title: "inside.title", View: Inside };

/** @param {{ store: Store }} props */
function Inside({ store }) {
  const isOwn = store.url.value.mode === "own";
  const isExercise = store.url.value.exercise === "1";
  useLayoutEffect(() => {
    hidesResults.value = isExercise;
    return () => {
      hidesResults.value = false;
    };
  }, [isExercise]);
  return h(
    "div",
    { class: "view inside" },
    h(Lead, { title: t("inside.heading") }, t("inside.lead")),
    h(
      "div",
      { class: "controls" },
      h(Segmented, {
        label: t("inside.modes"),
        options: [
          ["example", t("inside.mode_example")],
          ["own", t("inside.mode_own")],
        ],
        value: isOwn ? "own" : "example",
        onChange: (/** @type {string} */ mode) => store.set({ mode, ...OF_ONE_MODE }),
      }),
      h(CheckBox, { name: "exercise", label: t("exercise.hide"), isChecked: isExercise, onChange: store.set }),
    ),
    isExercise && h("p", { class: "explain" }, t("exercise.text")),
    isOwn ? h(OwnSentence, { store }) : h(WorkedExample, { store }),
  );
}
