/** Which model a view uses: the chosen one where it fits, else the first ready one that does, else one to wait for. */

/** @import { Model } from "./backend.js" */

const GENERATIONS = ["rnn", "rnn-attention", "transformer"]; // in the order of their papers

/**
 * @param {Model[]} models
 * @param {Model | null} chosen
 * @param {...Model["task"]} tasks
 * @returns {Model | null}
 */
export function modelFor(models, chosen, ...tasks) {
  const ofChosen = (/** @type {Model} */ { name }) => (name === chosen?.name ? 0 : 1);
  const fitting = models.filter(({ task }) => tasks.includes(task)).sort((a, b) => ofChosen(a) - ofChosen(b));
  return fitting.find(({ is_ready }) => is_ready) ?? fitting[0] ?? null;
}

/**
 * Whether a model's input is text: to translate, to continue, with blanks, or to classify.
 * @param {Model | null} model
 */
export function takesText(model) {
  return model !== null && !model.reads_images;
}

/**
 * The generation of a kind of model, from 0; null for a kind outside of the three.
 * @param {string} kind
 */
export function generationOf(kind) {
  const index = GENERATIONS.indexOf(kind);
  return index < 0 ? null : index;
}

/**
 * Sort by generation; kinds outside of the three come last.
 * @param {string} first
 * @param {string} second
 */
export function byGeneration(first, second) {
  return (generationOf(first) ?? GENERATIONS.length) - (generationOf(second) ?? GENERATIONS.length);
}

/**
 * The ready models that translate between the same languages as the chosen one, else as the first translator; by generation.
 * @param {Model[]} models
 * @param {Model | null} chosen
 */
export function comparableModels(models, chosen) {
  const first = modelFor(models, chosen, "translation");
  if (!first) return [];
  return models
    .filter(
      ({ is_ready, task, source, target }) =>
        is_ready && task === "translation" && source === first.source && target === first.target,
    )
    .sort((a, b) => byGeneration(a.kind, b.kind));
}
