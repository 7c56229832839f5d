/** What if, over a backend of fixed answers: what is requested, what is shown, and what the address holds. */

import assert from "node:assert/strict";
import test from "node:test";
import { ApiError } from "../../src/regard/web/data/errors.js";
import { backendOf, openView, quiet } from "./opened_view.js";

const { headsView } = await import("../../src/regard/web/views/heads/heads.js");
const { languageView } = await import("../../src/regard/web/views/language/language.js");
const { translateView } = await import("../../src/regard/web/views/translate/translate.js");

globalThis.getComputedStyle ??= window.getComputedStyle;

const MODEL = { name: "m", kind: "transformer", task: "translation", is_ready: true, has_attention: true, source: "en", target: "ko" }; // biome-ignore format: one record
const side = (words, end) => ({
  pieces: [...(end ? [] : ["<s>"]), ...words.map((word) => `▁${word}`), ...(end ? ["</s>"] : [])],
  word_pieces: Array.from({ length: words.length + 1 }, (_, index) => [index]),
  words: [...(end ? [] : ["<s>"]), ...words, ...(end ? ["</s>"] : [])],
});
const LAYERS = [{ role: "cross", layer: 0, heads: 2, queries: "target", keys: "source" }];
const outputOf = (interventions = []) => (interventions.some((text) => text.includes("=zero")) ? "나 간다" : "나 는");

function backend(more = {}, options = {}) {
  return backendOf(
    {
      models: () => ({ models: [MODEL] }),
      examples: () => ({ examples: [] }),
      headAlignment: () => ({ heads: [] }),
      traces: ({ target, interventions = [] }) => {
        const text = target ?? outputOf(interventions);
        return {
          id: JSON.stringify([text, interventions]),
          text,
          source: side(["I", "go"], true),
          target: side(text.split(" "), false),
          layers: LAYERS,
          log_probabilities: [-0.5, interventions.length ? -2 : -0.25, 0],
        };
      },
      alignment: () => ({ source_words: ["I", "go"], target_words: ["나", "는"], weights: [[0.7, 0.2], [0.1, 0.8]], links: [] }), // biome-ignore format: a matrix
      weights: () => ({ weights: new Float32Array(9).fill(1 / 3), rows: 3, columns: 3 }),
      translate: () => ({ translations: [[{ text: "나 는", score: -0.1, log_probability: -0.2 }]] }),
      interventionOptions: () => ({
        attentions: [{ role: "cross", layer: 0, heads: 2 }],
        parts: ["scaling", "residual", "layer"],
        sides: ["source", "target"],
      }),
      predictions: (id) => ({
        side: "target",
        positions: ["나", "는", "</s>"].map((piece) => [
          { piece, rank: 1, probability: id.includes("=zero") ? 0.2 : 0.9, is_chosen: true },
        ]),
      }),
      headImportance: (_id, position) => ({
        position,
        piece: "나",
        log_probability: -0.1,
        layers: [{ role: "cross", layer: 0, changes: [-3.4, 0.1] }],
      }),
      stream: () => null,
      ...more,
    },
    options,
  );
}

async function translate(url = {}, data = backend()) {
  data.stream = async function* stream() {
    yield { event: "done", text: "나 는" };
  };
  return { data, ...(await openView(translateView, data, { model: "m", text: "I go", ...url })) };
}

const requests = (data, name) => data.log.filter((request) => request.name === name).map(({ given }) => given);
const heads = (page) => [...page.root.querySelectorAll(".head-switch")];

test("the closed card requests nothing", async () => {
  const page = await translate();
  for (const name of ["interventionOptions", "predictions", "headImportance"])
    assert.deepEqual(requests(page.data, name), []);
  assert.equal(page.find(".what-if-toggle").getAttribute("aria-expanded"), "false");
  page.leave();
});

test("a disabled head gives another output beside the one before", async () => {
  const page = await translate({ what_if: "1" });
  assert.deepEqual(page.texts(".what-if-output .growing"), ["나 는 ", "나 는 "]);
  heads(page)[1].click();
  await quiet();
  assert.equal(page.store.url.value.changes, "cross.1.2=zero");
  assert.deepEqual(page.texts(".what-if-output .growing"), ["나 는 ", "나 간다 "]);
  assert.deepEqual(page.texts(".what-if-output mark"), ["는", "간다"]);
  assert.deepEqual(page.texts(".changes li span"), ["Decoder to encoder: layer 1, head 2 is off"]);
  assert.deepEqual(
    heads(page).map((button) => button.getAttribute("aria-pressed")),
    ["false", "true"],
  );
  page.leave();
});

test("both models predict the tokens of the output before", async () => {
  const page = await translate({ changes: "cross.1.2=zero" });
  const forced = requests(page.data, "traces").filter(([request]) => request.target);
  assert.deepEqual(forced[0][0], { model: "m", text: "I go", target: "나 는", interventions: ["cross.1.2=zero"] });
  assert.deepEqual(page.texts(".prediction-bars td .number"), ["0.900", "0.200"]);
  assert.match(page.find(".what-if").textContent, /before: -0\.75; with the changes: -2\.50/);
  page.leave();
});

test("no button of the card leaves the focus behind", async () => {
  const page = await translate({ changes: "cross.1.2=zero\nwithout.scaling" });
  const press = async (selector) => {
    page.find(selector).focus();
    await page.click(selector);
    return document.activeElement;
  };
  for (const selector of [
    ".changes button",
    ".what-if .controls button:nth-child(2)",
    ".what-if-toggle",
    ".what-if-toggle",
  ])
    assert.equal(await press(selector), page.find(".what-if-toggle"), selector);
  page.leave();
});

test("undo leads back through the changes, and through clear", async () => {
  const page = await translate({ what_if: "1" });
  const [undo, clear] = page.root.querySelectorAll(".what-if .controls button");
  assert.ok(undo.disabled && clear.disabled);
  heads(page)[0].click();
  await quiet();
  page.root.querySelector("input[name=scaling]").click();
  await quiet();
  assert.equal(page.store.url.value.changes, "cross.1.1=zero\nwithout.scaling");
  clear.click();
  await quiet();
  assert.equal(page.store.url.value.changes, "");
  for (const expected of ["cross.1.1=zero\nwithout.scaling", "cross.1.1=zero", ""]) {
    undo.click();
    await quiet();
    assert.equal(page.store.url.value.changes, expected);
  }
  page.leave();
});

test("undo does not bring back changes of another model", async () => {
  const page = await translate({ what_if: "1" });
  heads(page)[0].click();
  await quiet();
  page.store.set({ model: "another" });
  await quiet();
  assert.deepEqual(page.store.earlierChanges.value, []);
  assert.equal(page.store.url.value.changes ?? "", "");
  page.leave();
});

test("after a reload undo takes the last change back", async () => {
  const page = await translate({ changes: "cross.1.1=zero\nwithout.scaling" });
  page.root.querySelector(".what-if .controls button").click();
  await quiet();
  assert.equal(page.store.url.value.changes, "cross.1.1=zero");
  page.leave();
});

test("a struck word is hidden and listed", async () => {
  const page = await translate({ what_if: "1" });
  page.root.querySelectorAll(".word-switches button")[1].click();
  await quiet();
  assert.equal(page.store.url.value.changes, "hide.source.2");
  assert.deepEqual(page.texts(".word-switches del"), ["go"]);
  assert.deepEqual(page.texts(".changes li span"), ["“go” is struck out"]);
  page.root.querySelector(".changes button").click();
  await quiet();
  assert.equal(page.store.url.value.changes, "");
  page.leave();
});

test("head importance is requested on demand, for the chosen token", async () => {
  const page = await translate({ what_if: "1" });
  assert.deepEqual(requests(page.data, "headImportance"), []);
  page.root.querySelector("input[name=needs]").click();
  page.root.querySelectorAll(".what-if .token")[1].click();
  await quiet();
  assert.equal(requests(page.data, "headImportance").at(-1)[1], 1);
  assert.deepEqual(
    page.texts(".head-switch").map((text) => text.split(" ").at(-1)),
    ["−3.40", "+0.10"],
  );
  assert.equal(page.store.url.value.needs, "1");
  assert.equal(page.store.url.value.predict, "1");
  page.leave();
});

test("a refused change is explained and can be undone", async () => {
  const traces = ({ interventions, ...request }) => {
    if (interventions) throw new ApiError("bad_intervention", "The model has no layer 9.");
    return backend().traces(request);
  };
  const page = await translate({ changes: "cross.9.1=zero" }, backend({ traces }));
  assert.match(page.find(".what-if .problem").textContent, /The model has no layer 9\./);
  page.root.querySelectorAll(".what-if .controls button")[1].click();
  await quiet();
  assert.deepEqual(page.texts(".word-row-target .word"), ["나", "는"]);
  page.leave();
});

test("Heads shows the maps of the changed model", async () => {
  const data = backend();
  const page = await openView(headsView, data, { model: "m", text: "I go", what_if: "1", map: "0/1" });
  await page.click(".disable-head");
  assert.equal(page.store.url.value.changes, "cross.1.2=zero");
  assert.ok(requests(data, "weights").at(-1)[0].includes("cross.1.2=zero"));
  assert.deepEqual(page.texts(".head-thumb.is-off .head-caption"), ["off"]);
  page.leave();
});

test("a map keeps its title and labels until the next one is loaded", async () => {
  const layers = [...LAYERS, { role: "encoder-self", layer: 0, heads: 2, queries: "source", keys: "source" }];
  const data = backend();
  const { traces, weights } = data;
  let answer;
  Object.assign(data, {
    traces: async (request) => ({ ...(await traces(request)), source: side(["I", "go", "on"], true), layers }),
    weights: async (id, given) =>
      given.layer ? new Promise((resolve) => (answer = resolve)) : { ...(await weights(id, given)), columns: 4 },
  });
  const page = await openView(headsView, data, { model: "m", text: "I go on", map: "0/1" });
  const shown = () => [page.find(".heads-body h2").textContent, page.texts(".map-drawing text").slice(0, 2).join(" ")];
  const before = shown();
  assert.match(before[0], /Decoder to encoder/);
  page.store.set({ role: "encoder-self", map: "1/0" });
  await quiet();
  assert.deepEqual(shown(), before);
  answer({ weights: new Float32Array(16).fill(0.25), rows: 4, columns: 4 });
  await quiet();
  assert.match(shown()[0], /Encoder, self/);
  assert.equal(shown()[1], "▁I ▁go");
  page.leave();
});

test("a chosen cell of a map has a slider for its weight", async () => {
  const page = await openView(headsView, backend(), {
    model: "m",
    text: "I go",
    what_if: "1",
    map: "0/1",
    cell: "1.0",
  });
  assert.match(page.find(".weight-editor").textContent, /▁나.*▁I/);
  await page.choose(".weight-editor input", "0.8");
  assert.equal(page.store.url.value.changes ?? "", "");
  page.find(".weight-editor input").dispatchEvent(new Event("change", { bubbles: true }));
  await quiet();
  assert.equal(page.store.url.value.changes, "cross.1.2@2:1=0.8");
  const reset = page.root.querySelectorAll(".weight-editor button")[2];
  reset.focus();
  reset.click();
  await quiet();
  assert.equal(page.store.url.value.changes, "");
  assert.equal(document.activeElement, reset);
  page.leave();
});

test("a language model continues under the changes", async () => {
  const complete = ({ text, interventions = [] }) => ({
    model: "m",
    continuations: [
      { text: `${text} ${interventions.length ? "나" : "다"}`, score: 0, log_probability: 0, is_finished: true },
    ],
  });
  const models = () => ({ models: [{ ...MODEL, task: "text-generation" }] });
  const data = backend({ models, complete });
  const page = await openView(languageView, data, { model: "m", text: "가", changes: "without.scaling" });
  assert.deepEqual(page.texts(".what-if-output .growing"), ["가 다 ", "가 나 "]);
  assert.equal(page.texts(".output-text")[0], "가 나");
  assert.equal(requests(data, "complete").filter(([request]) => !request.do_sample).length, 2);
  page.leave();
});

for (const name of ["interventionOptions", "predictions", "headImportance"]) {
  test(`leaving while ${name} loads ends the request`, async () => {
    const page = await translate({ changes: "cross.1.2=zero", needs: "1" }, backend({}, { waiting: [name] }));
    page.leave();
    await quiet();
    const pending = page.data.log.filter((request) => request.name === name);
    assert.ok(pending.length > 0 && pending.every(({ isAborted }) => isAborted));
  });
}

/** A file's backend: its trace is that of the changed model. */
function file(experiment) {
  const data = backend({
    models: () => ({ models: [MODEL] }),
    traces: () => backend().traces({ interventions: ["cross.1.2=zero"] }),
  });
  return Object.assign(data, { isEmbedded: true, sourceText: "I go", experiment });
}

test("a file shows its recorded experiment and computes nothing", async () => {
  const before = { text: "나 는", target: side(["나", "는"], false), log_probabilities: [-1] };
  const page = await translate({}, file({ interventions: ["cross.1.2=zero", "hide.source.2"], before }));
  assert.deepEqual(page.texts(".what-if-output .growing"), ["나 는 ", "나 간다 "]);
  assert.deepEqual(page.texts(".changes li"), ["Decoder to encoder: layer 1, head 2 is off", "“go” is struck out"]);
  assert.match(page.find(".what-if").textContent, /start a server/);
  assert.equal(page.find(".what-if button"), null);
  for (const name of ["interventionOptions", "predictions"]) assert.deepEqual(requests(page.data, name), []);
  page.leave();
});

test("a file without an experiment says what changes need", async () => {
  const page = await translate({}, file(null));
  assert.match(page.find("details.what-if").textContent, /start a server/);
  page.leave();
});
