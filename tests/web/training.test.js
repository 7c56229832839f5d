import assert from "node:assert/strict";
import test from "node:test";
import { backendOf, openView, quiet } from "./opened_view.js";

const { chosenRun, trainingView } = await import("../../src/regard/web/views/training/training.js");

const RUN = { name: "small", kind: "transformer", steps: 100, step: 50, state: "training", model: "small" };
const progress = (step) => ({
  event: "progress",
  step,
  seconds: step / 10,
  loss: 100 / step,
  learning_rate: 0.1,
  tokens_per_second: 500,
});
const EVENTS = [
  { event: "start", step: 0 },
  { event: "probe", step: 0 },
  progress(25),
  { event: "probe", step: 25 },
  { event: "validation", step: 25, loss: 3, bleu: 10, chrf: 20, is_best: true, samples: [["a b", "가 나", "가 다"]] },
  progress(50),
  { event: "probe", step: 50 },
  { event: "validation", step: 50, loss: 2, bleu: 30, chrf: 40, is_best: true, samples: [["a b", "가 나", "가 나"]] },
];
const ENDED = { event: "end", step: 50, seconds: 5 };
const LABELS = { source: ["▁a", "</s>"], target: ["<s>", "▁가"] };
const SIDE = { pieces: ["<s>", "▁가"], word_pieces: [[0], [1]], words: ["<s>", "가"] };
const LAYERS = ["encoder-self", "decoder-self", "cross"].map((role) => ({ name: role, role, layer: 0, heads: 2 }));
const map = (weight) => ({ weights: Float32Array.of(weight, 1 - weight, 0.5, 0.5), rows: 2, columns: 2 });

/** A server with a run; `events` may grow. */
function training({ runs = [RUN], events = [...EVENTS], layers = LAYERS, waiting = [] } = {}) {
  const answers = {
    models: () => ({ models: [] }),
    runs: () => ({ runs: [...runs] }),
    runEvents: (_run, after) => ({ events: events.slice(after), next: events.length }),
    probes: () => ({ steps: [0, 25, 50], labels: [LABELS, LABELS], targets: [SIDE, SIDE], layers }),
    probeWeights: (_run, { step, head }) => map(step / 100 + (head === "mean" ? 0 : 0.01)),
  };
  return { events, ...backendOf(answers, { waiting }) };
}
const weightShown = async (page) => {
  page.find(".timeline-map .map-area").dispatchEvent(new KeyboardEvent("keydown", { key: "Home", bubbles: true }));
  await quiet();
  return page.find(".timeline-map .map-readout .number").textContent;
};

test("a run under way shows its newest step, samples and pace", async () => {
  const page = await openView(trainingView, training());
  assert.match(page.find(".progress-line").textContent, /step 50 of 100 · 500 tokens\/s · about 5 s left/);
  assert.equal(page.find(".timeline-step").textContent, "step 50");
  assert.match(page.find("table.samples caption").textContent, /Step 50, BLEU 30\.0/);
  assert.equal(page.find(".controls select[name], .stack .controls select:nth-of-type(1)").value, "0");
  assert.equal(await weightShown(page), "0.500");
  page.leave();
});

test("the address chooses step, probe, attention and validation", async () => {
  const url = { run: "small", time: "25", probe: "1", probe_map: "0/1", validation: "1" };
  const page = await openView(trainingView, training(), url);
  assert.equal(page.find(".timeline-step").textContent, "step 25");
  const values = [...page.root.querySelectorAll(".stack .controls select")].map(({ value }) => value);
  assert.deepEqual(values, ["1", "0", "1"]);
  assert.equal(await weightShown(page), "0.260");
  assert.match(page.find("table.samples caption").textContent, /Step 25/);
  assert.deepEqual(page.texts("mark"), ["다"]);
  page.leave();
});

test("choices are written to the address", async () => {
  const page = await openView(trainingView, training());
  await page.choose(".timeline-ruler input", "0");
  assert.equal(page.store.url.value.time, "0");
  assert.equal(await weightShown(page), "0.000");
  await page.choose(".timeline-ruler input", "2");
  assert.equal(page.store.url.value.time, ""); // the newest step, whichever that will be
  const [, attention] = page.root.querySelectorAll(".stack .controls select");
  attention.value = "1";
  attention.dispatchEvent(new Event("change", { bubbles: true }));
  await quiet();
  assert.equal(page.store.url.value.probe_map, "1/mean");
  page.leave();
});

test("an unknown address shows what there is", async () => {
  const url = { run: "gone", time: "9999", probe: "77", probe_map: "9/9", validation: "12" };
  const page = await openView(trainingView, training(), url);
  assert.equal(page.find(".timeline-step").textContent, "step 50");
  assert.equal(page.root.querySelectorAll(".problem").length, 0);
  assert.match(page.find("table.samples caption").textContent, /Step 50/);
  page.leave();
});

test("the view opens on a run with something to show", () => {
  const runs = [
    { name: "later", state: "waiting" },
    { name: "done", state: "ended" },
  ];
  assert.equal(chosenRun(runs, "", null).name, "done");
  assert.equal(chosenRun(runs, "", "later").name, "done");
  assert.equal(chosenRun(runs, "later", null).name, "later");
  assert.equal(chosenRun(runs.slice(0, 1), "", null).name, "later");
});

test("a run that has ended is not asked for again", async () => {
  const data = training({ events: [...EVENTS, ENDED] });
  const page = await openView(trainingView, data);
  assert.match(page.find(".progress-line").textContent, /took 5 s · best BLEU 30\.0 at step 50/);
  document.dispatchEvent(new Event("visibilitychange"));
  await quiet();
  assert.equal(data.log.filter(({ name }) => name === "runEvents").length, 1);
  page.leave();
});

test("a run is followed until the view is left", async () => {
  const data = training();
  const page = await openView(trainingView, data);
  data.events.push(progress(75), { event: "probe", step: 75 });
  document.dispatchEvent(new Event("visibilitychange")); // the page becomes visible: it asks at once
  await quiet();
  assert.match(page.find(".progress-line").textContent, /step 75 of 100/);
  assert.equal(page.find(".timeline-step").textContent, "step 75");
  page.leave();
  const requests = data.log.length;
  document.dispatchEvent(new Event("visibilitychange"));
  await quiet();
  assert.equal(data.log.length, requests);
});

test("a resumed run with fewer events is read from its beginning", async () => {
  const data = training();
  const page = await openView(trainingView, data);
  data.events.splice(3);
  document.dispatchEvent(new Event("visibilitychange"));
  await quiet();
  assert.match(page.find(".progress-line").textContent, /step 25 of 100/);
  assert.equal(page.find(".timeline-step").textContent, "step 0");
  page.leave();
});

test("a waiting run becomes known when it begins", async () => {
  const runs = [{ ...RUN, kind: "", state: "waiting", step: 0 }];
  const data = training({ runs, events: [] });
  const page = await openView(trainingView, data);
  assert.match(page.find(".progress-line").textContent, /has not started yet/);
  runs[0] = RUN;
  data.events.push(...EVENTS);
  document.dispatchEvent(new Event("visibilitychange"));
  await quiet();
  await quiet();
  assert.equal(data.log.filter(({ name }) => name === "runs").length, 2);
  assert.equal(page.find(".timeline-step").textContent, "step 50");
  page.leave();
});

for (const name of ["runs", "runEvents", "probes", "probeWeights"]) {
  test(`leaving Training while ${name} loads ends its requests`, async () => {
    const data = training({ waiting: [name] });
    const page = await openView(trainingView, data);
    page.leave();
    await quiet();
    const open = data.log.filter((request) => request.name === name);
    assert.ok(open.length > 0 && open.every(({ isAborted }) => isAborted));
  });
}

test("a model without attention has no timeline", async () => {
  const page = await openView(trainingView, training({ layers: [] }));
  assert.match(page.root.textContent, /This model has no attention\./);
  page.leave();
});

test("playing goes to the last step and stops", async () => {
  const page = await openView(trainingView, training(), { time: "0" });
  await page.click(".play");
  assert.equal(page.find(".timeline-step").textContent, "step 25");
  assert.equal(page.find(".play").textContent, "Pause");
  for (let round = 0; round < 60 && page.find(".play").textContent === "Pause"; round += 1) await quiet();
  assert.equal(page.find(".timeline-step").textContent, "step 50");
  assert.equal(page.find(".play").textContent, "Play");
  page.leave();
});
