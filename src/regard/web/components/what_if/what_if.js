/** What if: the card in which the reader changes a model or its input, and compares the output before and after. */

import { t } from "../../core/i18n.js";
import { useLostFocus, useQuery } from "../../core/query.js";
import { h, useEffect } from "../../core/ui.js";
import { indexParam } from "../../core/url.js";
import { MOST_INTERVENTIONS, toggleHead } from "../../math/intervention_syntax.js";
import { tokenLabel } from "../../math/tokens.js";
import { Segmented } from "../controls.js";
import { Card } from "../layout.js";
import { Loading, Problem } from "../placeholders.js";
import { TokenRow } from "../token_row.js";
import { OutputPair, PredictionBars } from "./before_after.js";
import { ChangeList } from "./change_list.js";
import { ABLATIONS, ablationOf, changesOf, isOpen, setChanges, undoChange } from "./experiment.js";
import { HeadBoard } from "./head_board.js";
import { RecordedCard } from "./recorded.js";
import { PartSwitches, RegionSwitches, WordSwitches } from "./switches.js";

/** @import { Store } from "../../core/store.js" */
/** @import { AnyTrace, InterventionOptions, PredictedToken, Predictions } from "../../data/backend.js" */
/** @import { HeadAction, HeadAddress } from "../../math/intervention_syntax.js" */
/** @import { Experiment } from "./experiment.js" */

const ABLATION_NAMES = /** @type {const} */ ({
  zero: "what_if.ablate_zero",
  mean: "what_if.ablate_mean",
  uniform: "what_if.ablate_uniform",
});

/**
 * @param {object} props
 * @param {Store} props.store
 * @param {Experiment | null} props.experiment null while there is no input
 * @param {AnyTrace | null} [props.trace] in a file: the trace of the changed model
 */
export function WhatIf({ store, experiment, trace = null }) {
  const { data } = store;
  const open = isOpen(store);
  const list = changesOf(store);
  const focus = useLostFocus(`${open}\n${list.join("\n")}`);
  if (data.isEmbedded) return h(RecordedCard, { recorded: data.experiment ?? null, trace });
  if (!experiment) return null;
  const toggleOpen = () => store.set({ what_if: open ? "0" : "1", cell: "" });
  const button = {
    ref: focus,
    type: "button",
    class: "what-if-toggle",
    "aria-expanded": String(open),
    onClick: toggleOpen,
  };
  const toggle = h("button", button, t(open ? "what_if.close" : "what_if.open"));
  const canUndo = list.length > 0 || store.earlierChanges.value.some(Boolean);
  if (!open) {
    const lead = h("p", { class: "faint small" }, t("what_if.lead"));
    return h("section", { class: "card what-if is-closed" }, h("h2", null, t("what_if.title")), lead, toggle);
  }
  const beside = h(
    "div",
    { class: "controls" },
    h("button", { type: "button", disabled: !canUndo, onClick: () => undoChange(store) }, t("what_if.undo")),
    h("button", { type: "button", disabled: !list.length, onClick: () => setChanges(store, []) }, t("what_if.clear")),
    toggle,
  );
  return h(
    "div",
    { class: "what-if" },
    h(
      Card,
      { title: t("what_if.title"), explanation: t("what_if.lead"), beside },
      h(ExperimentBody, { key: experiment.key, store, experiment, list }),
    ),
  );
}

/** @param {{ store: Store, experiment: Experiment, list: string[] }} props */
function ExperimentBody({ store, experiment, list }) {
  const { data } = store;
  const { model } = experiment;
  const change = (/** @type {string[]} */ next) => setChanges(store, next);
  const allowed = useQuery((signal) => data.interventionOptions(model, { signal }), [model]);
  const before = useQuery((signal) => experiment.withBefore(traceAlone, { signal }), [experiment.key]);
  const output = useQuery((signal) => experiment.output([], { signal }), [experiment.key]);
  const changed = useQuery(list.length > 0 && ((signal) => experiment.output(list, { signal })), [
    experiment.key,
    list.join("\n"),
  ]);
  const predicted = usePredictions(store, experiment, list);
  const error = allowed.error ?? before.error ?? output.error ?? changed.error ?? predicted.error;
  const after = list.length ? changed.data : output.data;
  const options = allowed.data;
  useEffect(() => {
    if (list.length && after !== null) store.announcement.value = `${t("what_if.after")}: ${after}`;
  }, [after, list.length]);
  return h(
    "div",
    { class: "stack" },
    error && h(Problem, { error }),
    h(OutputPair, {
      before: output.data,
      after,
      logProbabilities: list.length && predicted.data ? predicted.data.logProbabilities : null,
    }),
    h(ChangeList, {
      list,
      trace: before.data,
      onRemove: (texts) => change(list.filter((text) => !texts.includes(text))),
    }),
    list.length > MOST_INTERVENTIONS - 4 &&
      h("p", { class: "faint small" }, t("what_if.most", { count: MOST_INTERVENTIONS })),
    options && before.data
      ? h(Switches, {
          store,
          experiment,
          options,
          trace: before.data,
          list,
          predicted: predicted.data,
          onChange: change,
        })
      : !error && h(Loading, null),
  );
}

/**
 * @param {object} props
 * @param {Store} props.store
 * @param {Experiment} props.experiment
 * @param {InterventionOptions} props.options
 * @param {AnyTrace} props.trace
 * @param {string[]} props.list
 * @param {PredictedPair | null} props.predicted
 * @param {(list: string[]) => void} props.onChange
 */
function Switches({ store, experiment, options, trace, list, predicted, onChange }) {
  const side = /** @type {"source" | "target" | undefined} */ (options.sides.find((known) => known !== "image"));
  const tokens = predicted?.before.positions.map(predictedPiece) ?? [];
  const first = experiment.hasEnd ? Math.max(0, tokens.length - 1) : 0;
  const position = indexParam(store.url.value.predict, tokens.length) ?? first;
  const section = (/** @type {string} */ title, /** @type {import("../../core/ui.js").ComponentChildren} */ content) =>
    h("div", { class: "stack what-if-part" }, h("h3", null, title), content);
  return [
    options.parts.length > 0 && section(t("what_if.parts"), h(PartSwitches, { parts: options.parts, list, onChange })),
    experiment.isOfImage
      ? section(t("what_if.regions"), h(RegionSwitches, { image: /** @type {any} */ (trace), list, onChange }))
      : side && section(t("what_if.words"), h(WordSwitches, { side, trace, list, onChange })),
    predicted && section(t("what_if.next_token"), h(NextToken, { store, tokens, position, list, predicted })),
    options.attentions.length > 0 &&
      section(
        t("what_if.heads"),
        h(HeadSwitches, { store, experiment, options, list, position, token: tokens[position] ?? "", onChange }),
      ),
  ];
}

/** @param {{ store: Store, tokens: string[], position: number, list: string[], predicted: PredictedPair }} props */
function NextToken({ store, tokens, position, list, predicted }) {
  return [
    h(TokenRow, {
      label: t("what_if.predicted"),
      tokens,
      chosen: position,
      onChoose: (index) => store.set({ predict: String(index) }),
    }),
    h(PredictionBars, {
      before: predicted.before.positions[position] ?? [],
      after: list.length ? (predicted.after?.positions[position] ?? null) : null, // no column until it is known
    }),
  ];
}

/**
 * @param {object} props
 * @param {Store} props.store
 * @param {Experiment} props.experiment
 * @param {InterventionOptions} props.options
 * @param {string[]} props.list
 * @param {number} props.position
 * @param {string} props.token
 * @param {(list: string[]) => void} props.onChange
 */
function HeadSwitches({ store, experiment, options, list, position, token, onChange }) {
  const action = ablationOf(store);
  const isShown = store.url.value.needs === "1";
  const importance = useQuery(
    isShown &&
      ((signal) => experiment.withBefore(({ id }) => store.data.headImportance(id, position, { signal }), { signal })),
    [experiment.key, position, isShown],
    { keepsData: true },
  );
  const needsBox = {
    type: "checkbox",
    name: "needs",
    checked: isShown,
    onChange: () => store.set({ needs: isShown ? "" : "1" }),
  };
  return [
    h(
      "div",
      { class: "controls" },
      h("label", { class: "check" }, h("input", needsBox), t("what_if.needs", { token: tokenLabel(token) })),
      h(
        "div",
        { class: "field" },
        t("what_if.ablation"),
        h(Segmented, {
          label: t("what_if.ablation"),
          options: ABLATIONS.map((known) => /** @type {[HeadAction, string]} */ ([known, t(ABLATION_NAMES[known])])),
          value: action,
          onChange: (/** @type {HeadAction} */ value) => store.set({ ablation: value === "zero" ? "" : value }),
        }),
      ),
    ),
    isShown && h("p", { class: "faint small" }, t("what_if.needs_text")),
    importance.error && h(Problem, { error: importance.error }),
    h(HeadBoard, {
      attentions: options.attentions,
      list,
      importance: isShown ? importance.data : null,
      onToggle: (/** @type {HeadAddress} */ address) => onChange(toggleHead(list, address, action)),
    }),
  ];
}

/** @typedef {{ before: Predictions, after: Predictions | null, logProbabilities: [number, number] | null }} PredictedPair */

/**
 * What both models predict after the same tokens.
 * @param {Store} store
 * @param {Experiment} experiment
 * @param {string[]} list
 * @returns {{ data: PredictedPair | null, error: Error | null }}
 */
function usePredictions({ data }, experiment, list) {
  const load =
    (/** @type {AbortSignal} */ signal) =>
    async (/** @type {AnyTrace} */ { id, log_probabilities }) => ({
      predictions: await data.predictions(id, { signal }),
      total: log_probabilities.reduce((sum, value) => sum + value, 0),
    });
  const before = useQuery((signal) => experiment.withBefore(load(signal), { signal }), [experiment.key]);
  const after = useQuery(
    list.length > 0 && ((signal) => experiment.withAfter(list, load(signal), { signal })),
    [experiment.key, list.join("\n")],
    { keepsData: true },
  );
  const error = before.error ?? after.error;
  if (!before.data) return { data: null, error };
  return {
    data: {
      before: before.data.predictions,
      after: after.data?.predictions ?? null,
      logProbabilities: after.data && experiment.keepsOutput ? [before.data.total, after.data.total] : null,
    },
    error,
  };
}

/**
 * The token that a position predicts: the one in the output, else the most probable.
 * @param {PredictedToken[]} tokens
 */
function predictedPiece(tokens) {
  return (tokens.find(({ is_chosen }) => is_chosen) ?? tokens[0])?.piece ?? "";
}

/** @param {AnyTrace} trace */
async function traceAlone(trace) {
  return trace;
}
