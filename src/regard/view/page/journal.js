/** What a run's journal says, read for people: curves, samples, where training stands. Nothing here draws. */

const RECENT = 5; // progress events that the speed is taken from

/** The events of a journal sorted into what the page shows. */
export function readJournal(events) {
  const of = (kind) => events.filter((event) => event.event === kind);
  const progress = of("progress");
  const validations = of("validation");
  const curve = (list, field) => list.map((event) => [event.step, event[field]]);
  const scored = (field) => curve(validations.filter((event) => typeof event[field] === "number"), field); // a language model has no such score
  return {
    began: of("began").at(-1) ?? null,
    ended: of("ended").at(-1) ?? null,
    step: events.reduce((last, event) => Math.max(last, event.step), 0),
    progress,
    loss: curve(progress, "loss"),
    rate: curve(progress, "rate"),
    validationLoss: curve(validations, "loss"),
    bleu: scored("bleu"),
    chrf: scored("chrf"),
    cider: scored("cider"),
    best: validations.filter((event) => event.is_best).at(-1) ?? null,
    validations: validations.filter((event) => event.samples?.length),
    probeSteps: of("probe").map((event) => event.step),
    skipped: of("skipped").length,
  };
}

/** The steps that an axis holds: from the first to the last that there will be, or that there was, where training ended sooner. */
export function stepsHeld(journal, steps) {
  return [0, journal.ended ? journal.step : Math.max(steps, 1)];
}

/** Whether a run's model describes pictures: then its words look at places, not at words of a source. */
export function looksAtPictures({ kind }) {
  return kind.startsWith("captioner");
}

/** Steps and tokens in a second of late, and how many seconds are left at that speed; null before the first progress. */
export function paceOf(progress, steps) {
  const last = progress.at(-1);
  if (!last) return null;
  const first = progress.length > RECENT ? progress.at(-1 - RECENT) : { step: 0, seconds: 0 };
  const stepsPerSecond = (last.step - first.step) / Math.max(1e-9, last.seconds - first.seconds);
  return {
    tokensPerSecond: last.tokens_per_second,
    secondsLeft: stepsPerSecond > 0 ? Math.max(0, steps - last.step) / stepsPerSecond : null,
  };
}

/** A time span in the largest unit that says enough: [amount, "seconds" | "minutes" | "hours"]. */
export function roughSpan(seconds) {
  if (seconds < 55) return [Math.max(1, Math.round(seconds / 5) * 5), "seconds"];
  if (seconds < 5400) return [Math.max(1, Math.round(seconds / 60)), "minutes"];
  return [Math.round(seconds / 1800) / 2, "hours"];
}

/** How long to wait before asking again: two seconds, longer while nothing comes, much longer while nobody looks. */
export function pollDelay(idleRounds, isHidden) {
  if (isHidden) return 15000;
  return Math.min(2000 * 1.5 ** Math.max(0, idleRounds - 5), 10000);
}
