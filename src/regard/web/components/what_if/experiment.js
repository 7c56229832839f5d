/** The experiment of the reader: interventions in the address, and the same input given to the model before and after them. */

import { captionKey } from "../../data/traces.js";
import { formatList, MOST_INTERVENTIONS, parseList } from "../../math/intervention_syntax.js";
import { BLANK } from "../../math/tokens.js";

export const ABLATIONS = /** @type {HeadAction[]} */ (["zero", "mean", "uniform"]);

/** @import { HeadAction } from "../../math/intervention_syntax.js" */
/** @import { Store } from "../../core/store.js" */
/** @import { AnyTrace, CaptionRequest, Model, RequestOptions } from "../../data/backend.js" */

/**
 * @template T
 * @typedef {(trace: AnyTrace) => Promise<T>} UseTrace
 */
/**
 * @typedef {object} Experiment
 * @property {string} key another one for another model or input
 * @property {string} model
 * @property {boolean} hasEnd the last token is the most interesting one: it is the next
 * @property {(list: string[], options: RequestOptions) => Promise<string>} output what the model outputs with these interventions
 * @property {<T>(use: UseTrace<T>, options: RequestOptions) => Promise<T>} withBefore the trace of the unchanged model
 * @property {<T>(list: string[], use: UseTrace<T>, options: RequestOptions) => Promise<T>} withAfter the trace of the changed model
 *   with the output of the unchanged one, so that both predict the same tokens
 * @property {boolean} isOfImage the trace is a caption's
 * @property {boolean} keepsOutput both traces are of the same output, so that its probabilities can be compared
 */

/** @param {Store} store */
export function changesOf(store) {
  return parseList(store.url.value.changes);
}

/**
 * Interventions as a part of a request; none where there are none, so that such requests stay the same.
 * @param {string[]} list
 * @returns {{ interventions?: string[] }}
 */
export function asRequest(list) {
  return list.length ? { interventions: list } : {};
}

/**
 * Whether the reader experiments: then maps can be edited.
 * @param {Store} store
 */
export function isOpen(store) {
  const { what_if: state, changes } = store.url.value;
  return state === "1" || (Boolean(changes) && state !== "0");
}

/**
 * @param {Store} store
 * @param {string[]} list
 */
export function setChanges(store, list) {
  if (list.length > MOST_INTERVENTIONS) return;
  const before = store.url.peek().changes ?? "";
  if (formatList(list) === before) return;
  store.earlierChanges.value = [...store.earlierChanges.peek(), before];
  store.set({ changes: formatList(list), what_if: "1" });
}

/**
 * What replaces a head that the reader disables.
 * @param {Store} store
 */
export function ablationOf(store) {
  return ABLATIONS.find((known) => known === store.url.value.ablation) ?? "zero";
}

/**
 * Take the last change back; after a reload, the last intervention of the list.
 * @param {Store} store
 */
export function undoChange(store) {
  const current = store.url.peek().changes ?? "";
  const earlier = store.earlierChanges.peek().slice();
  let before = earlier.pop();
  while (before === current) before = earlier.pop(); // Back has already taken it back
  store.earlierChanges.value = earlier;
  store.set({ changes: before ?? formatList(parseList(current).slice(0, -1)) });
}

/**
 * An experiment on a text. A language model has a trace of the text itself, a translator one of its output: that output is
 * kept, so that both models predict the same tokens.
 * @param {Store} store
 * @param {Pick<Model, "name" | "task" | "fills_masks">} model
 * @param {string} text
 * @param {string} [target] an output that the reader has chosen
 * @returns {Experiment}
 */
export function textExperiment({ traces }, { name, task, fills_masks }, text, target = "") {
  const request = { model: name, text, ...(target && { target }) };
  return {
    key: JSON.stringify(request),
    model: name,
    hasEnd: task === "text-generation",
    isOfImage: false,
    keepsOutput: task === "translation",
    async output(list, options) {
      const changed = { ...request, ...asRequest(list) };
      if (task === "translation" || task === "classification") return (await traces.get(changed, options)).text;
      if (task === "fill-mask")
        return fills_masks && BLANK.test(text) ? (await traces.fill(changed, options)).text : text;
      return (await traces.complete({ ...changed, beam_size: 1 }, options)).continuations[0].text;
    },
    withBefore: (use, options) => traces.withTrace(request, use, options),
    async withAfter(list, use, options) {
      const isDecoded = task === "translation" && !target;
      const output = isDecoded ? { target: (await traces.get(request, options)).text } : {};
      return traces.withTrace({ ...request, ...output, ...asRequest(list) }, use, options);
    },
  };
}

/**
 * An experiment on a caption. A captioner cannot be made to output a given caption: after a changed word, the predictions
 * of the two models follow different words.
 * @param {Store} store
 * @param {CaptionRequest} request
 * @returns {Experiment}
 */
export function captionExperiment({ traces: { captions } }, request) {
  return {
    key: captionKey(request),
    model: request.model,
    hasEnd: false,
    isOfImage: true,
    keepsOutput: false,
    output: async (list, options) => (await captions.get({ ...request, ...asRequest(list) }, options)).text,
    withBefore: (use, options) => captions.withTrace(request, use, options),
    withAfter: (list, use, options) => captions.withTrace({ ...request, ...asRequest(list) }, use, options),
  };
}
