/** The experiment of a file or a notebook: recorded by `regard show --ablate`, since a file cannot compute new outputs. */

import { t } from "../../core/i18n.js";
import { h } from "../../core/ui.js";
import { Card } from "../layout.js";
import { OutputPair } from "./before_after.js";
import { ChangeList } from "./change_list.js";

/** @import { AnyTrace, RecordedExperiment } from "../../data/backend.js" */

/**
 * In a file or a notebook: the experiment that was recorded, or what an experiment needs.
 * @param {{ recorded: RecordedExperiment | null, trace: AnyTrace | null }} props
 */
export function RecordedCard({ recorded, trace }) {
  if (!recorded) {
    return h(
      "details",
      { class: "explain what-if" },
      h("summary", null, t("what_if.title")),
      h("p", null, t("what_if.needs_server")),
    );
  }
  const { interventions, before } = recorded;
  return h(
    "div",
    { class: "what-if" },
    h(
      Card,
      { title: t("what_if.title"), explanation: t("what_if.recorded") },
      h(
        "div",
        { class: "stack" },
        h(OutputPair, {
          before: before.text,
          after: trace?.text ?? null,
          logProbabilities: recordedTotals(before, trace),
        }),
        h(ChangeList, { list: interventions, trace }),
        h("p", { class: "faint small" }, t("what_if.needs_server")),
      ),
    ),
  );
}

/**
 * The log-probabilities of both outputs, where they are the same output.
 * @param {RecordedExperiment["before"]} before
 * @param {AnyTrace | null} after
 * @returns {[number, number] | null}
 */
function recordedTotals(before, after) {
  if (before.text !== after?.text) return null;
  const total = (/** @type {number[]} */ values) => values.reduce((sum, value) => sum + value, 0);
  return [total(before.log_probabilities), total(after.log_probabilities)];
}
