/** Training: a run's curves, its samples, and its attention at the steps where it was saved; live while the run goes on. */

import { Select } from "../../components/controls.js";
import { Lead } from "../../components/layout.js";
import { Empty, Loading, Problem, withCode } from "../../components/placeholders.js";
import { t } from "../../core/i18n.js";
import { useQuery } from "../../core/query.js";
import { Fragment, h, useEffect, useMemo, useRef, useState } from "../../core/ui.js";
import {
  isImageRun,
  pollDelay,
  readTrainingLog,
  roughDuration,
  stepRange,
  trainingPace,
} from "../../math/training_log.js";
import { Curves, Samples } from "./curves.js";
import { Timeline } from "./timeline.js";

/** @import { Store } from "../../core/store.js" */
/** @import { Backend, RunRecord } from "../../data/backend.js" */
/** @import { TrainingEvent, TrainingLog, ValidationEvent } from "../../math/training_log.js" */

const STATES = /** @type {const} */ ({
  waiting: "training.state_waiting",
  training: "training.state_training",
  ended: "training.state_ended",
  stopped: "training.state_stopped",
});
const DURATIONS = /** @type {const} */ ({ seconds: "span.seconds", minutes: "span.minutes", hours: "span.hours" });

export const trainingView = { id: "training", title: "training.title", View: Training };

/** @param {{ store: Store }} props */
function Training({ store }) {
  const { data } = store;
  const { run: name = "" } = store.url.value;
  const [round, setRound] = useState(0);
  const query = useQuery((signal) => data.runs({ signal }), [round]);
  const known = useRef(/** @type {RunRecord[] | null} */ (null));
  if (query.data) known.current = query.data.runs;
  const runs = known.current;
  const run = runs ? chosenRun(runs, name, store.model.value?.run ?? null) : null;
  const followed = useRunEvents(data, run?.name ?? null);
  const log = useMemo(() => readTrainingLog(followed.events), [followed.events]);
  useEffect(() => {
    if (run && !run.kind && followed.events.length) setRound((last) => last + 1); // it waited and has begun: its record now has a kind
  }, [followed.events]);
  return h(
    "div",
    { class: "view" },
    h(Lead, { title: t("training.heading") }, t("training.lead")),
    data.omitted && h("p", { class: "explain" }, omittedText(data.omitted)),
    run &&
      h(
        "div",
        { class: "controls" },
        h(Select, {
          label: t("training.run"),
          options: (runs ?? []).map(runOption),
          value: run.name,
          onChange: choose,
        }),
      ),
    body(),
  );

  function choose(/** @type {string} */ chosen) {
    store.set({ run: chosen });
  }

  function body() {
    if (!runs) return query.error ? h(Problem, { error: query.error }) : h(Loading, null);
    if (!run) return h(Empty, null, withCode(t("training.no_runs")));
    if (!followed.isLoaded && !followed.error) return h(Loading, null);
    return h(RunBody, { key: run.name, store, run: withState(run, log), log, error: followed.error });
  }
}

/** @param {{ store: Store, run: RunRecord, log: TrainingLog, error: Error | null }} props */
function RunBody({ store, run, log, error }) {
  const steps = useMemo(() => stepRange(log, run.steps), [log, run.steps]);
  const share = run.steps ? Math.min(1, log.step / run.steps) : 0;
  const isOver = run.state === "ended" || run.state === "stopped";
  return h(
    Fragment,
    null,
    h(
      "div",
      { class: "card progress-card" },
      error ? h(Problem, { error }) : h("p", { class: "progress-line", "aria-live": "off" }, progressText(run, log)),
      h("progress", { max: 1, value: share, "aria-label": t("training.progress") }),
    ),
    h(Timeline, { key: run.kind, store, run, savedSteps: log.probeSteps, stepRange: steps, isOver }),
    h(Curves, { log, stepRange: steps }),
    h(Samples, { store, log, isOfImages: isImageRun(run) }),
  );
}

/**
 * The run in the address; else one that is being trained, the model's own, or the first with something to show.
 * @param {RunRecord[]} runs
 * @param {string} name
 * @param {string | null} ofModel
 */
export function chosenRun(runs, name, ofModel) {
  const named = runs.find((run) => run.name === name) ?? runs.find(({ state }) => state === "training");
  const hasBegun = (/** @type {RunRecord} */ { state }) => state !== "waiting";
  return named ?? runs.find((run) => run.name === ofModel && hasBegun(run)) ?? runs.find(hasBegun) ?? runs[0] ?? null;
}

/**
 * @param {RunRecord} run
 * @returns {[value: string, label: string]}
 */
function runOption({ name, state }) {
  return [name, `${name} (${t(STATES[state])})`];
}

/**
 * The record with the state that the events tell; it was fetched before them.
 * @param {RunRecord} run
 * @param {TrainingLog} log
 * @returns {RunRecord}
 */
function withState(run, log) {
  if (log.ended) return { ...run, state: "ended" };
  return run.state === "waiting" && log.progress.length ? { ...run, state: "training" } : run;
}

/**
 * The events of a run, fetched as long as it goes on and the view is open.
 * @param {Backend} data
 * @param {string | null} run
 * @returns {{ events: TrainingEvent[], isLoaded: boolean, error: Error | null }}
 */
function useRunEvents(data, run) {
  const [state, setState] = useState({
    run: /** @type {string | null} */ (null),
    events: /** @type {TrainingEvent[]} */ ([]),
    error: /** @type {Error | null} */ (null),
  });
  useEffect(
    () => (run === null ? undefined : followRun(data, run, (events, error) => setState({ run, events, error }))),
    [data, run],
  );
  return useMemo(
    () => (state.run === run ? { ...state, isLoaded: true } : { events: [], isLoaded: false, error: null }),
    [state, run],
  );
}

/**
 * Report the events of a run until the returned function is called. Events that became fewer (a run was resumed) are read from the beginning.
 * @param {Backend} data
 * @param {string} run
 * @param {(events: TrainingEvent[], error: Error | null) => void} report
 */
function followRun(data, run, report) {
  const stop = new AbortController();
  const { signal } = stop;
  let [events, next, idleRounds, timer, isBusy] = [/** @type {TrainingEvent[]} */ ([]), 0, 0, 0, false];
  const fetchNew = async () => {
    let answer = await data.runEvents(run, next, { signal });
    const isReset = answer.next < next;
    if (isReset) answer = await data.runEvents(run, 0, { signal });
    const isNew = isReset || next === 0 || answer.events.length > 0;
    events = [...(isReset ? [] : events), .../** @type {TrainingEvent[]} */ (answer.events)];
    next = answer.next;
    return isNew;
  };
  const poll = async () => {
    if (isBusy) return;
    clearTimeout(timer);
    isBusy = true;
    try {
      const isNew = await fetchNew();
      idleRounds = isNew ? 0 : idleRounds + 1;
      if (isNew && !signal.aborted) report(events, null);
    } catch (error) {
      if (signal.aborted) return;
      idleRounds += 5; // a server that fails is asked less often
      report(events, /** @type {Error} */ (error));
    }
    isBusy = false;
    const isOver = events.at(-1)?.event === "end" || data.isEmbedded;
    if (!signal.aborted && !isOver) timer = setTimeout(poll, pollDelay(idleRounds, document.hidden));
  };
  const wake = () => document.hidden || events.at(-1)?.event === "end" || poll();
  if (!data.isEmbedded) document.addEventListener("visibilitychange", wake, { signal });
  poll();
  return () => {
    stop.abort();
    clearTimeout(timer);
  };
}

/**
 * "step 800 of 2,000 · 12,400 tokens/s · about 1 min left".
 * @param {RunRecord} run
 * @param {TrainingLog} log
 */
function progressText(run, log) {
  if (!log.hasBegun) return t("training.waiting");
  const step = t("training.step", { step: whole(log.step), steps: whole(run.steps) });
  if (log.ended) {
    const parts = [
      step,
      t("training.took", { time: durationText(log.ended.seconds) }),
      log.best ? bestText(log.best) : "",
    ];
    return parts.filter(Boolean).join(" · ");
  }
  const pace = trainingPace(log.progress, run.steps);
  if (!pace) return step;
  const isLive = run.state === "training" && pace.secondsLeft !== null;
  const rest = isLive ? t("training.left", { time: durationText(pace.secondsLeft ?? 0) }) : t(STATES[run.state]);
  return [step, t("training.speed", { tokens: whole(pace.tokensPerSecond) }), rest].join(" · ");
}

/** @param {ValidationEvent} best */
function bestText({ bleu, loss, step }) {
  if (typeof bleu === "number") return t("training.best", { bleu: bleu.toFixed(1), step: whole(step) });
  return t("training.best_loss", { loss: loss.toFixed(3), step: whole(step) });
}

/** @param {number} seconds */
function durationText(seconds) {
  const { amount, unit } = roughDuration(seconds);
  return t(DURATIONS[unit], { amount });
}

/** @param {number} number */
function whole(number) {
  return Math.round(number).toLocaleString("en");
}

/** @param {NonNullable<Backend["omitted"]>} omitted what a file leaves out to stay small */
function omittedText({ steps, of_steps: ofSteps, probes, of_probes: ofProbes }) {
  return t("training.left_out", { steps, ofSteps, probes, ofProbes });
}
