/** A run's events as the page needs them: curves, samples, speed, and when to ask the server again. */

/** @typedef {{ event: "progress", step: number, seconds: number, loss: number, learning_rate: number, tokens_per_second: number }} ProgressEvent */
/**
 * @typedef {object} ValidationEvent
 * @property {"validation"} event
 * @property {number} step
 * @property {number} loss
 * @property {number | null} [bleu] a language model has none
 * @property {number | null} [chrf]
 * @property {number | null} [cider]
 * @property {number | null} [old_loss] on examples like those of the model that was fine-tuned
 * @property {number | null} [old_bleu]
 * @property {boolean} is_best
 * @property {[source: string, reference: string, output: string][]} [samples]
 */
/** @typedef {{ event: "end", step: number, seconds: number }} EndEvent */
/** @typedef {{ event: "start" | "probe" | "skip" | "checkpoint", step: number }} OtherEvent */
/** @typedef {ProgressEvent | ValidationEvent | EndEvent | OtherEvent} TrainingEvent */
/** @typedef {[step: number, value: number][]} Curve */
/** @typedef {ReturnType<typeof readTrainingLog>} TrainingLog */

const RECENT = 5; // progress events over which the speed is measured
const POLL_EVERY = 2000; // ms while a run reports something
const POLL_AT_MOST = 10_000; // ms between two requests while nothing is new
const POLL_HIDDEN = 15_000; // ms while the page is in the background
const PATIENT_ROUNDS = 5; // rounds without news before the page asks less often

/**
 * The events of a run, sorted into what the view shows.
 * @param {TrainingEvent[]} events
 */
export function readTrainingLog(events) {
  const progress = events.filter((event) => event.event === "progress");
  const validations = events.filter((event) => event.event === "validation");
  return {
    hasBegun: events.some(({ event }) => event === "start" || event === "progress"),
    ended: events.filter((event) => event.event === "end").at(-1) ?? null,
    step: events.reduce((last, { step }) => Math.max(last, step), 0),
    progress,
    loss: curve(progress, "loss"),
    learningRate: curve(progress, "learning_rate"),
    validationLoss: curve(validations, "loss"),
    bleu: curve(validations, "bleu"),
    chrf: curve(validations, "chrf"),
    cider: curve(validations, "cider"),
    oldLoss: curve(validations, "old_loss"),
    oldBleu: curve(validations, "old_bleu"),
    best: validations.filter(({ is_best }) => is_best).at(-1) ?? null,
    validations: validations.filter(({ samples }) => samples?.length),
    probeSteps: events.filter(({ event }) => event === "probe").map(({ step }) => step),
  };
}

/**
 * One field over the steps; events without a number there are left out.
 * @template {{ step: number }} E
 * @param {E[]} events
 * @param {keyof E} field
 * @returns {Curve}
 */
function curve(events, field) {
  return events.flatMap((event) => (typeof event[field] === "number" ? [[event.step, event[field]]] : []));
}

/**
 * The range of a step axis: to the planned last step or, after the end, to the last step that was made.
 * @param {TrainingLog} log
 * @param {number} plannedSteps
 * @returns {[first: number, last: number]}
 */
export function stepRange(log, plannedSteps) {
  return [0, log.ended ? log.step : Math.max(plannedSteps, 1)];
}

/**
 * Whether a run trains a captioner: its words attend to regions of an image rather than to source tokens.
 * @param {{ kind: string }} run
 */
export function isImageRun({ kind }) {
  return kind.startsWith("captioner");
}

/**
 * Recent speed, and the seconds that are left at that speed; null before the first progress.
 * @param {ProgressEvent[]} progress
 * @param {number} plannedSteps
 */
export function trainingPace(progress, plannedSteps) {
  const last = progress.at(-1);
  if (!last) return null;
  const first = progress.at(-1 - RECENT) ?? { step: 0, seconds: 0 };
  const stepsPerSecond = (last.step - first.step) / Math.max(1e-9, last.seconds - first.seconds);
  return {
    tokensPerSecond: last.tokens_per_second,
    secondsLeft: stepsPerSecond > 0 ? Math.max(0, plannedSteps - last.step) / stepsPerSecond : null,
  };
}

/**
 * A duration in the largest unit that is precise enough.
 * @param {number} seconds
 * @returns {{ amount: number, unit: "seconds" | "minutes" | "hours" }}
 */
export function roughDuration(seconds) {
  if (seconds < 55) return { amount: Math.max(1, Math.round(seconds / 5) * 5), unit: "seconds" };
  if (seconds < 5400) return { amount: Math.max(1, Math.round(seconds / 60)), unit: "minutes" };
  return { amount: Math.round(seconds / 1800) / 2, unit: "hours" };
}

/**
 * Milliseconds until the next request for events: longer while nothing is new, longest in the background.
 * @param {number} idleRounds requests in a row without a new event
 * @param {boolean} isHidden
 */
export function pollDelay(idleRounds, isHidden) {
  if (isHidden) return POLL_HIDDEN;
  return Math.min(POLL_EVERY * 1.5 ** Math.max(0, idleRounds - PATIENT_ROUNDS), POLL_AT_MOST);
}

/**
 * At most so many items of a list, evenly chosen, with its first and last.
 * @template T
 * @param {T[]} list
 * @param {number} most
 */
export function evenlyChosen(list, most) {
  if (list.length <= most) return list;
  return Array.from({ length: most }, (_, index) => list[Math.round((index * (list.length - 1)) / (most - 1))]);
}
