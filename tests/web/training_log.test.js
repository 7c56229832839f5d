import assert from "node:assert/strict";
import test from "node:test";
import {
  evenlyChosen,
  pollDelay,
  readTrainingLog,
  roughDuration,
  stepRange,
  trainingPace,
} from "../../src/regard/web/math/training_log.js";

const EVENTS = [
  { event: "start", step: 0 },
  { event: "probe", step: 0 },
  { event: "progress", step: 10, seconds: 1, loss: 3, learning_rate: 0.1, tokens_per_second: 5 },
  { event: "validation", step: 10, loss: 2.5, bleu: 12, is_best: true, samples: [["a", "b", "c"]] },
  { event: "progress", step: 20, seconds: 2, loss: 2, learning_rate: 0.2, tokens_per_second: 6 },
  { event: "validation", step: 20, loss: 2.6, bleu: null, is_best: false, samples: [] },
  { event: "probe", step: 25 },
];

test("a log has one point per event that has the number", () => {
  const log = readTrainingLog(EVENTS);
  assert.deepEqual(log.loss, [
    [10, 3],
    [20, 2],
  ]);
  assert.deepEqual(log.validationLoss, [
    [10, 2.5],
    [20, 2.6],
  ]);
  assert.deepEqual(log.bleu, [[10, 12]]);
  assert.deepEqual(log.chrf, []);
  assert.deepEqual(log.probeSteps, [0, 25]);
  assert.equal(log.validations.length, 1);
  assert.equal(log.best.step, 10);
  assert.equal(log.step, 25);
});

test("a fine-tuned run has curves of the old data", () => {
  const scored = { event: "validation", step: 5, loss: 2, bleu: 20, old_loss: 1.5, old_bleu: 40, is_best: true };
  const log = readTrainingLog([...EVENTS, scored]);
  assert.deepEqual(log.oldLoss, [[5, 1.5]]);
  assert.deepEqual(log.oldBleu, [[5, 40]]);
});

test("an empty log has not begun", () => {
  const log = readTrainingLog([]);
  assert.equal(log.hasBegun, false);
  assert.equal(log.best, null);
  assert.equal(log.step, 0);
});

test("the step axis holds the plan until the run ends", () => {
  assert.deepEqual(stepRange(readTrainingLog(EVENTS), 60), [0, 60]);
  assert.deepEqual(stepRange(readTrainingLog([...EVENTS, { event: "end", step: 25, seconds: 3 }]), 60), [0, 25]);
});

test("the time left follows from the last steps", () => {
  const slow = [1, 2, 3].map((step) => ({
    event: "progress",
    step,
    seconds: step * 10,
    tokens_per_second: 5,
    loss: 1,
    learning_rate: 1,
  }));
  const fast = [1, 2, 3, 4, 5, 6, 7].map((step) => ({
    ...slow[0],
    step: 3 + step,
    seconds: 30 + step,
    tokens_per_second: 50,
  }));
  const pace = trainingPace([...slow, ...fast], 100);
  assert.equal(pace.tokensPerSecond, 50);
  assert.ok(Math.abs(pace.secondsLeft - 90) < 1e-9);
  assert.equal(trainingPace([], 100), null);
});

test("durations are told in the largest unit that is precise enough", () => {
  const told = [2, 31, 90, 7200].map((seconds) => roughDuration(seconds));
  assert.deepEqual(
    told.map(({ amount }) => amount),
    [1, 30, 2, 2],
  );
  assert.deepEqual(
    told.map(({ unit }) => unit),
    ["seconds", "seconds", "minutes", "hours"],
  );
});

test("the page asks less often without news and in the background", () => {
  const delays = [0, 5, 8, 40].map((idle) => pollDelay(idle, false));
  assert.deepEqual(delays.slice(0, 2), [2000, 2000]);
  assert.deepEqual(
    delays,
    [...delays].sort((a, b) => a - b),
  );
  assert.equal(delays.at(-1), 10_000);
  assert.ok(pollDelay(0, true) > 10_000);
});

test("evenly chosen items keep the first and the last", () => {
  const list = Array.from({ length: 101 }, (_, index) => index);
  assert.deepEqual(evenlyChosen(list, 5), [0, 25, 50, 75, 100]);
  assert.equal(evenlyChosen(list, 200), list);
});
