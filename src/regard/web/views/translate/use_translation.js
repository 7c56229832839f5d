/** Everything Translate requests: the streamed translation, its trace and alignment, the other outputs, the heads' errors. */

import { asRequest, changesOf } from "../../components/what_if/experiment.js";
import { useQuery } from "../../core/query.js";
import { paramsOf } from "../../core/store.js";
import { useSignal } from "../../core/ui.js";
import {
  formatSelection,
  headAlignments,
  MEAN_OF_ALL,
  parseSelection,
  wordAlignment,
} from "../../data/head_alignment.js";

import { formatList, parseList } from "../../math/intervention_syntax.js";

/** @import { AttentionLayer, Example, Model, Output, Trace, WordAlignment } from "../../data/backend.js" */
/** @import { HeadSelection, ScoredSelection } from "../../data/head_alignment.js" */
/** @import { Store } from "../../core/store.js" */

/**
 * A traced translation. Alignment is null for a model without attention between target and source.
 * @typedef {{ trace: Trace, cross: AttentionLayer[], changes: string, alignment: WordAlignment | null }} TracedTranslation
 */
/**
 * @typedef {object} TranslationState
 * @property {string} partial the translation as far as it is streamed
 * @property {TracedTranslation | null} traced
 * @property {HeadSelection} selection the attention that is chosen; `traced` may still be that of the one before
 * @property {ScoredSelection[]} scored
 * @property {Output[]} outputs the best outputs of the beam search
 * @property {Error | null} outputsError
 * @property {Example | null} example the example that the text is, if it is one
 * @property {boolean} isBusy
 * @property {Error | null} error
 */

export const PARAMS = { target: "", align: "", pinned: "" };
const OUTPUTS = 5; // shown
const FOUND = 8; // requested: the same text in other tokens is shown once

/**
 * @param {Store} store
 * @param {Model | null} model null while there is none that translates
 * @param {number} attempt a new number repeats the translation
 * @returns {TranslationState}
 */
export function useTranslation(store, model, attempt) {
  const { data } = store;
  const text = store.text.value;
  const { target, align } = paramsOf(store, PARAMS);
  const changes = changesOf(store);
  const changesKey = changes.join("\n");
  const partial = useSignal("");
  const name = model && text ? model.name : null;

  const examples = useQuery(
    model && ((signal) => data.examples({ source: model.source, target: model.target }, { signal })),
    [model?.name],
  );
  const scored = useQuery(model && ((signal) => headAlignments(data, model, { signal })), [model?.name]);
  const streamed = useQuery(
    name !== null &&
      (async (signal) => {
        partial.value = "";
        if (changes.length) return true; // the trace decodes the changed output
        for await (const part of data.stream({ model: name, text }, { signal })) partial.value = part.text;
        return true;
      }),
    [name, text, attempt],
  );
  const best = scored.data?.[0] ?? MEAN_OF_ALL;
  const traced = useQuery(
    name !== null &&
      streamed.data &&
      ((signal) => requestTraced(store, { model: name, text, target, changes }, align, best, signal)),
    [name, text, attempt, streamed.data, target, align, formatSelection(best), changesKey],
    { keepsData: true },
  );
  const tracedChanges = data.isEmbedded ? undefined : traced.data?.changes; // the other outputs wait for the first
  const outputs = useQuery(
    name !== null &&
      tracedChanges !== undefined &&
      ((signal) =>
        data.translate(
          { model: name, texts: [text], nbest: FOUND, beam_size: FOUND, ...asRequest(parseList(tracedChanges)) },
          { signal },
        )),
    [name, text, attempt, tracedChanges],
  );
  return {
    partial: partial.value,
    traced: traced.data,
    selection: chosenSelection(align, traced.data?.cross ?? [], best),
    scored: scored.data ?? [],
    outputs: distinctOutputs(outputs.data?.translations[0] ?? []),
    outputsError: outputs.error,
    example: examples.data?.examples.find(({ source }) => source === text) ?? null,
    isBusy: streamed.isLoading || traced.isLoading || outputs.isLoading,
    error: streamed.error ?? traced.error,
  };
}

/**
 * The best outputs with different texts.
 * @param {Output[]} outputs the best first
 */
export function distinctOutputs(outputs) {
  const isFirst = (/** @type {Output} */ { text }, /** @type {number} */ rank) =>
    outputs.findIndex((other) => other.text === text) === rank;
  return outputs.filter(isFirst).slice(0, OUTPUTS);
}

/**
 * The selection of the URL, else the best.
 * @param {string} align
 * @param {AttentionLayer[]} cross
 * @param {HeadSelection} best
 * @returns {HeadSelection}
 */
function chosenSelection(align, cross, best) {
  return (
    parseSelection(align, cross.length, cross[0]?.heads ?? 0) ?? { layer: best.layer, head: best.head, at: best.at }
  );
}

/**
 * @param {Store} store
 * @param {{ model: string, text: string, target: string, changes: string[] }} request an empty target: the model's own translation
 * @param {string} align
 * @param {HeadSelection} best
 * @param {AbortSignal} signal
 * @returns {Promise<TracedTranslation>}
 */
function requestTraced({ data, traces }, { model, text, target, changes }, align, best, signal) {
  const request = { model, text, ...(target && { target }), ...asRequest(changes) };
  return traces.withTrace(
    request,
    async (trace) => {
      const cross = trace.layers.filter(({ role }) => role === "cross");
      const selection = chosenSelection(align, cross, best);
      return {
        trace,
        cross,
        changes: formatList(changes),
        alignment: cross.length ? await wordAlignment(data, trace.id, selection, { signal }) : null,
      };
    },
    { signal },
  );
}
