/** Training: a run's curves and samples, and its attention as it formed; live while the run is under way. */

import { clear, h } from "./make.js";
import { looksAtPictures, paceOf, pollDelay, readJournal, roughSpan, stepsHeld } from "./journal.js";
import { dropDown, emptyNote, isAbandoned, lead, problemNote, waitingNote } from "./notes.js";
import { samplesCard, trainingCurves } from "./training_curves.js";
import { timeline } from "./training_timeline.js";
import { t } from "./text.js";

export const trainingView = { id: "training", title: "training.title", mount: mountTraining };

function mountTraining(root, app) {
  const view = { app, run: null, runs: [], leaving: new AbortController(), picker: h("div", { class: "controls" }), body: h("div", { class: "stack" }, waitingNote()) };
  root.append(h("div", { class: "view" }, lead(t("training.heading"), t("training.lead"), ...leftOutNote(app.api)), view.picker, view.body));
  listRuns(view);
  const wake = () => !document.hidden && view.wake?.();
  document.addEventListener("visibilitychange", wake);
  return () => {
    view.leaving.abort();
    document.removeEventListener("visibilitychange", wake);
    closeRun(view);
  };
}

/** What a file leaves out to stay small. */
function leftOutNote({ leftOut }) {
  return leftOut ? [t("training.leftOut", { steps: leftOut.steps, ofSteps: leftOut.of_steps, probes: leftOut.probes, ofProbes: leftOut.of_probes })] : [];
}

async function listRuns(view) {
  try {
    view.runs = (await view.app.api.runs({ signal: view.leaving.signal })).runs;
  } catch (problem) {
    if (!isAbandoned(problem)) clear(view.body, problemNote(problem));
    return;
  }
  if (!view.runs.length) return void clear(view.body, emptyNote(t("training.noRuns")));
  const own = view.app.model()?.run;
  const isLive = (run) => run.state === "training";
  openRun(view, (view.runs.find(isLive) ?? view.runs.find((run) => run.name === own) ?? view.runs[0]).name);
}

function showPicker(view) {
  const choices = view.runs.map((run) => [run.name, `${run.name} (${t(`training.state.${run.state}`)})`]);
  clear(view.picker, dropDown(t("training.run"), choices, view.run.name, (name) => openRun(view, name)));
}

function closeRun(view) {
  view.asked?.abort();
  view.curves?.stop();
  view.timeline?.stop();
  clearTimeout(view.timer);
}

/** Show a run from its first event on, and follow it. */
function openRun(view, name) {
  closeRun(view);
  view.asked = new AbortController();
  view.run = view.runs.find((run) => run.name === name);
  Object.assign(view, { events: [], after: 0, idle: 0, line: h("p", { class: "progress-line", "aria-live": "off" }), bar: h("progress", { max: 1, value: 0, "aria-label": t("training.progress") }) });
  view.curves = trainingCurves();
  view.samples = samplesCard({ isOfPictures: looksAtPictures(view.run) });
  view.timeline = timeline(view.app, view.run);
  showPicker(view);
  clear(view.body, h("div", { class: "card progress-card" }, view.line, view.bar), view.timeline.node, view.curves.node, view.samples.node);
  follow(view, view.asked.signal);
}

/** Whether a run that was waiting has begun, and says what kind of model it trains. */
async function isKnownNow(view, signal) {
  const { runs } = await view.app.api.runs({ signal });
  const isKnown = runs.some((run) => run.name === view.run.name && run.kind);
  if (isKnown) view.runs = runs;
  return isKnown;
}

/** Fetch what is new, show it, and come back later as long as the run goes on. */
async function follow(view, signal) {
  view.wake = () => {
    clearTimeout(view.timer);
    follow(view, signal);
  };
  try {
    const isNew = await fetchEvents(view, signal);
    view.idle = isNew ? 0 : view.idle + 1;
    if (isNew && !view.run.kind && (await isKnownNow(view, signal))) return openRun(view, view.run.name);
    if (isNew || view.idle === 1) showEvents(view);
  } catch (problem) {
    if (isAbandoned(problem) || signal.aborted) return;
    view.idle += 5;
    clear(view.line, problemNote(problem));
  }
  if (!signal.aborted && !isOver(view) && !view.app.api.isEmbedded) view.timer = setTimeout(() => follow(view, signal), pollDelay(view.idle, document.hidden));
}

/** Whether there are new events. A journal that went back (a resumed run) is read from its beginning. */
async function fetchEvents(view, signal) {
  let answer = await view.app.api.runEvents(view.run.name, view.after, { signal });
  if (answer.next < view.after) {
    view.events = [];
    answer = await view.app.api.runEvents(view.run.name, 0, { signal });
  }
  view.events.push(...answer.events);
  view.after = answer.next;
  return answer.events.length > 0;
}

function isOver(view) {
  return view.events.at(-1)?.event === "ended";
}

function showEvents(view) {
  const journal = readJournal(view.events);
  if (journal.ended) view.run.state = "ended";
  else if (journal.progress.length && view.run.state === "waiting") view.run.state = "training";
  clear(view.line, progressText(view.run, journal));
  view.bar.value = view.run.steps ? Math.min(1, journal.step / view.run.steps) : 0;
  const held = stepsHeld(journal, view.run.steps);
  view.curves.show(journal, held);
  view.samples.show(journal);
  view.timeline.show(journal.probeSteps, { held, isOver: ["ended", "stopped"].includes(view.run.state) });
}

/** What the best validation came to: its BLEU or, of a language model, its loss. */
function bestText({ bleu, loss }, step) {
  return typeof bleu === "number" ? t("training.best", { bleu: bleu.toFixed(1), step }) : t("training.bestLoss", { loss: loss.toFixed(3), step });
}

/** "step 800 of 2,000, 12,400 tokens/s, about 1 min left". */
function progressText(run, journal) {
  const number = (value) => Math.round(value).toLocaleString("en");
  if (!journal.began && !journal.progress.length) return t("training.waiting");
  const place = t("training.step", { step: number(journal.step), steps: number(run.steps) });
  if (journal.ended) {
    const [amount, unit] = roughSpan(journal.ended.seconds);
    const best = journal.best ? bestText(journal.best, number(journal.best.step)) : "";
    return [place, t("training.took", { time: t(`span.${unit}`, { amount }) }), best].filter(Boolean).join(" · ");
  }
  const pace = paceOf(journal.progress, run.steps);
  if (!pace) return place;
  const speed = t("training.speed", { tokens: number(pace.tokensPerSecond) });
  if (run.state !== "training" || pace.secondsLeft === null) return `${place} · ${speed} · ${t(`training.state.${run.state}`)}`;
  const [amount, unit] = roughSpan(pace.secondsLeft);
  return `${place} · ${speed} · ${t("training.left", { time: t(`span.${unit}`, { amount }) })}`;
}
