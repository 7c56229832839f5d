import assert from "node:assert/strict";
import test from "node:test";
import { createStore } from "../../src/regard/web/core/store.js";
import { h, render } from "../../src/regard/web/core/ui.js";
import { ApiError } from "../../src/regard/web/data/errors.js";
import { createTraces } from "../../src/regard/web/data/traces.js";
import { compareView } from "../../src/regard/web/views/compare/compare.js";
import { translateView } from "../../src/regard/web/views/translate/translate.js";
import { distinctOutputs } from "../../src/regard/web/views/translate/use_translation.js";
import { newRoot, settle } from "./dom.js";

globalThis.ResizeObserver ??= class {
  observe() {}
  disconnect() {}
};
globalThis.getComputedStyle ??= window.getComputedStyle;

const MODEL = {
  name: "small",
  kind: "transformer",
  task: "translation",
  is_ready: true,
  has_attention: true,
  source: "en",
  target: "ko",
  parameters: 1000,
  score: null,
  query_state: null,
};
const side = (words, end) => ({
  pieces: [...(end ? [] : ["<s>"]), ...words.map((word) => `▁${word}`), ...(end ? ["</s>"] : [])],
  word_pieces: Array.from({ length: words.length + 1 }, (_, index) => [index]),
  words: [...(end ? [] : ["<s>"]), ...words, ...(end ? ["</s>"] : [])],
});
const TRACE = {
  id: "1",
  text: "나 는",
  source: side(["I", "go"], true),
  target: side(["나", "는"], false),
  layers: [{ role: "cross", layer: 0, heads: 2, queries: "target", keys: "source" }],
  log_probabilities: [Math.log(0.5), Math.log(0.25), 0],
  unknown_words: ["go"],
};
const ALIGNMENT = { source_words: ["I", "go"], target_words: ["나", "는"], weights: [[0.7, 0.2], [0.1, 0.8]], links: [[0, 0], [1, 1]] }; // biome-ignore format: a matrix

/** A backend with one model; requests named in `waiting` are never answered, but can be aborted. */
function fixture({ waiting = [], models = [MODEL] } = {}) {
  const log = [];
  const answer =
    (name, value) =>
    async (...given) => {
      const signal = given.at(-1)?.signal;
      const request = { name, given, isAborted: false };
      log.push(request);
      if (!waiting.includes(name)) return value;
      return new Promise((_, reject) => {
        signal?.addEventListener("abort", () => {
          request.isAborted = true;
          reject(new DOMException("aborted", "AbortError"));
        });
      });
    };
  return {
    log,
    isEmbedded: false,
    models: answer("models", { models }),
    examples: answer("examples", { examples: [{ source: "I go", target: "나 는", links: [[0, 0]] }] }),
    headAlignment: answer("headAlignment", { heads: [{ layer: 0, head: 1, at: "input", aer: 0.1 }] }),
    traces: answer("traces", TRACE),
    alignment: answer("alignment", ALIGNMENT),
    translate: answer("translate", {
      translations: [
        [
          { text: "나 는", score: -0.1, log_probability: -0.2 },
          { text: "나", score: -1, log_probability: -2 },
        ],
      ],
    }),
    contributions: answer("contributions", { source: [0.75, 0.5, 0.5], prefix: [0.25, 0.5, 0.5] }),
    evaluation: answer("evaluation", null),
    runs: answer("runs", { runs: [] }),
    async *stream(request, options) {
      yield { event: "partial", text: "나" };
      await answer("stream", null)(request, options);
      yield { event: "done", text: "나 는" };
    },
  };
}

/** A view on the page, and how to leave it. */
async function opened(view, data, url = {}) {
  const store = createStore(data, createTraces(data));
  store.set({ view: view.id, ...url });
  const root = newRoot();
  render(h(view.View, { store }), root);
  await settle();
  return {
    root,
    store,
    texts: (selector) => [...root.querySelectorAll(selector)].map((element) => element.textContent),
    leave() {
      render(null, root);
      store.dispose();
      root.remove();
    },
  };
}

test("the first example is translated, traced and aligned", async () => {
  const data = fixture();
  const page = await opened(translateView, data);
  assert.equal(page.store.text.value, "I go");
  assert.deepEqual(page.texts(".word-row-source .word"), ["I", "go"]);
  assert.deepEqual(page.texts(".word-row-target .word"), ["나", "는"]);
  assert.deepEqual(page.texts(".output-text"), ["나 는", "나"]);
  assert.deepEqual(data.log.findLast(({ name }) => name === "alignment").given[1], { layer: 0, head: 1, at: "input" });
  assert.equal(page.root.querySelector(".is-busy"), null);
  page.leave();
});

test("the URL chooses attention, word and output", async () => {
  const data = fixture();
  const page = await opened(translateView, data, {
    text: "I go",
    align: "mean.0.output",
    pinned: "target.1",
    target: "나 는",
  });
  assert.deepEqual(data.log.find(({ name }) => name === "traces").given[0], {
    model: "small",
    text: "I go",
    target: "나 는",
  });
  assert.deepEqual(data.log.find(({ name }) => name === "alignment").given[1], {
    layer: "mean",
    head: 0,
    at: "output",
  });
  assert.deepEqual(page.texts(".word-detail b"), ["는"]);
  assert.match(page.texts(".word-detail p")[0], /25 %/);
  assert.deepEqual(page.texts(".bars .number"), ["0.800", "0.100", "0.100"]);
  page.leave();
});

test("a choice is written to the URL", async () => {
  const page = await opened(translateView, fixture());
  page.root.querySelectorAll(".word-row-source .word")[1].click();
  page.root.querySelector(".best-head").click();
  await settle();
  assert.equal(page.store.url.value.pinned, "source.1");
  assert.equal(page.store.url.value.align, "0.1.input");
  page.root.querySelectorAll(".output")[1].click();
  await settle();
  assert.equal(page.store.url.value.target, "나");
  assert.equal(page.store.url.value.pinned || "", "");
  page.leave();
});

for (const name of ["stream", "traces", "alignment", "translate", "headAlignment", "examples"]) {
  test(`leaving Translate while ${name} loads ends all requests`, async () => {
    const data = fixture({ waiting: [name] });
    const page = await opened(translateView, data, { text: "I go" });
    const pending = data.log.filter((request) => request.name === name);
    assert.ok(pending.length > 0);
    page.leave();
    await settle();
    assert.ok(pending.every(({ isAborted }) => isAborted));
    const count = data.log.length;
    await settle();
    assert.equal(data.log.length, count);
  });
}

test("unknown words are named, unsure ones marked", async () => {
  const page = await opened(translateView, fixture(), { text: "I go" });
  assert.match(page.texts(".unlearned")[0], /go/);
  assert.deepEqual(page.texts(".word.is-unsure"), ["는"]);
  assert.match(page.texts(".confidence")[0], /50 %.*“는” \(25 %\)/);
  page.leave();
});

test("a word has its shares of source and prefix", async () => {
  const page = await opened(translateView, fixture(), { text: "I go", pinned: "target.0" });
  await settle();
  assert.match(page.texts(".word-detail")[0], /75 % from the source, 25 % from the words before/);
  page.leave();
});

test("an error leaves the streamed text on the page", async () => {
  const data = fixture();
  data.stream = async function* () {
    yield { event: "partial", text: "나 는 간다" };
    throw new ApiError("too_late", "30 s are over");
  };
  const page = await opened(translateView, data, { text: "I go" });
  assert.deepEqual(page.texts(".growing"), ["나 는 간다"]);
  assert.equal(page.texts(".problem").length, 1);
  page.leave();
});

test("the same text in other tokens is one output", () => {
  const outputs = ["a", "b", "a", "c"].map((text, rank) => ({ text, score: rank }));
  assert.deepEqual(
    distinctOutputs(outputs).map(({ text, score }) => [text, score]),
    [
      ["a", 0],
      ["b", 1],
      ["c", 3],
    ],
  );
});

test("a random sentence is another example", async () => {
  const data = fixture();
  data.examples = async ({ limit }) => ({
    examples: (limit ? ["I go", "you go"] : ["I go"]).map((source) => ({ source, target: "", links: null })),
  });
  const page = await opened(translateView, data, { text: "I go" });
  page.root.querySelector(".random").click();
  await settle();
  assert.equal(page.store.url.value.text, "you go");
  page.leave();
});

test("a word of the list is added to the sentence", async () => {
  const data = { ...fixture(), words: async () => ({ words: ["cat", "dog", "door"] }) };
  const page = await opened(translateView, data, { text: "I go" });
  page.root.querySelector(".composer-head [aria-expanded]").click();
  await settle();
  assert.deepEqual(page.texts(".word-list button"), ["cat", "dog", "door"]);
  const start = page.root.querySelector(".word-list input");
  start.value = "Do";
  start.dispatchEvent(new Event("input", { bubbles: true }));
  await settle();
  assert.deepEqual(page.texts(".word-list button"), ["dog", "door"]);
  page.root.querySelector(".word-list button").click();
  await settle();
  assert.equal(page.root.querySelector("textarea").value, "I go dog");
  page.leave();
});

const MODELS = ["a", "b", "c"].map((name) => ({ ...MODEL, name }));

test("models are compared one after the other", async () => {
  const data = fixture({ models: MODELS });
  const page = await opened(compareView, data, { text: "I go" });
  await settle();
  assert.deepEqual(
    data.log.filter(({ name }) => name === "translate").map(({ given }) => given[0].model),
    ["a", "b", "c"],
  );
  assert.deepEqual(page.texts(".compare-card .translation"), ["나 는 ✓", "나 는 ✓", "나 는 ✓"]);
  page.leave();
});

test("the reference is shown, and what differs from it marked", async () => {
  const data = fixture({ models: [MODEL] });
  data.examples = async () => ({ examples: [{ source: "I go", target: "나 도", links: null }] });
  const page = await opened(compareView, data, { text: "I go" });
  assert.match(page.texts(".compare-reference")[0], /나 도/);
  assert.deepEqual(page.texts(".translation mark"), ["는"]);
  page.leave();
});

test("the prompt of a language model is no sentence to translate", async () => {
  const reader = { ...MODEL, name: "reader", task: "fill-mask", fills_masks: true, source: "ko", target: "ko" };
  const data = fixture({ models: [reader, ...MODELS] });
  const page = await opened(compareView, data, { model: "reader", text: "가 ___ 다" });
  await settle();
  const sent = data.log.filter(({ name }) => name === "translate").map(({ given }) => given[0].texts[0]);
  assert.deepEqual([...new Set(sent)], ["I go"]);
  assert.equal(page.store.url.value.model, "a");
  page.leave();
});

test("leaving Compare ends the round of models", async () => {
  const data = fixture({ models: MODELS, waiting: ["translate"] });
  const page = await opened(compareView, data, { text: "I go" });
  page.leave();
  await settle();
  const asked = data.log.filter(({ name }) => name === "translate");
  assert.equal(asked.length, 1);
  assert.ok(asked[0].isAborted);
});

test("a refused request is shown and the next model is asked", async () => {
  const data = fixture({ models: MODELS });
  const translate = data.translate;
  data.translate = async (request, options) => {
    if (request.model === "a") throw new ApiError("busy", "too much");
    return translate(request, options);
  };
  const page = await opened(compareView, data, { text: "I go" });
  await settle();
  assert.equal(page.texts("[data-model=a] .problem").length, 1);
  assert.equal(page.texts(".compare-card .translation").length, 2);
  page.leave();
});
