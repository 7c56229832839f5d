import assert from "node:assert/strict";
import test from "node:test";
import { createStore } from "../../src/regard/web/core/store.js";
import { h, render } from "../../src/regard/web/core/ui.js";
import { createTraces } from "../../src/regard/web/data/traces.js";
import { exampleDetail } from "../../src/regard/web/math/worked_example.js";
import { insideView } from "../../src/regard/web/views/inside/inside.js";
import { firstQuery } from "../../src/regard/web/views/inside/own_sentence.js";
import { orderParam } from "../../src/regard/web/views/inside/worked_example.js";
import { newRoot, settle } from "./dom.js";

globalThis.ResizeObserver ??= class {
  observe() {}
  disconnect() {}
};

const MODEL = { name: "small", kind: "transformer", task: "translation", is_ready: true, has_attention: true };
const side = (...pieces) => ({ pieces, words: pieces.map((_, index) => [index]), spelled: pieces });
const TRACE = {
  id: "1",
  text: "나는 간다",
  source: side("▁I", "▁go", "</s>"),
  target: side("<s>", "▁나는", "▁간다"),
  layers: [
    { role: "encoder-self", layer: 0, heads: 2, queries: "source", keys: "source" },
    { role: "cross", layer: 0, heads: 2, queries: "target", keys: "source" },
  ],
};

/** A backend with one model; its arithmetic is the example's, under the name of a layer. */
function fixture({ delay = 0 } = {}) {
  const requests = [];
  return {
    requests,
    isEmbedded: false,
    models: async () => ({ models: [MODEL] }),
    examples: async () => ({ examples: [{ source: "I go", target: null, links: null }] }),
    traces: async () => TRACE,
    arithmetic: async (id, place, { signal }) => {
      requests.push({ id, ...place, signal });
      await new Promise((resolve) => setTimeout(resolve, delay).unref());
      signal.throwIfAborted();
      const detail = exampleDetail(place.query, false);
      return { ...detail, layer: { ...detail.layer, name: "layer", deviation: 1e-8 } };
    },
  };
}

async function opened(params, options) {
  const data = fixture(options);
  const store = createStore(data, createTraces(data));
  const root = newRoot();
  await settle();
  store.set(params);
  render(h(insideView.View, { store }), root);
  await settle();
  const close = () => {
    render(null, root);
    store.dispose();
  };
  return { data, store, root, close };
}

const texts = (root, selector) => [...root.querySelectorAll(selector)].map(({ textContent }) => textContent);

for (const [pieces, first] of [
  [["<s>", "▁", "AI", "가"], 1],
  [["<s>", "▁소", "너"], 0],
  [["<s>", "▁", ".", "<0xEA>", "<0x4E>"], 3],
  [["<s>"], 0],
]) {
  test(`the first query of ${pieces.join(" ")} has a part of a word to predict`, () => {
    const trace = { target: { pieces }, source: { pieces: [...pieces.slice(1), "</s>"] } };
    assert.equal(firstQuery(trace, { queries: "target" }), first);
    assert.equal(firstQuery(trace, { queries: "source" }), first);
  });
}

test("a model without blocks has no logit lens", async () => {
  const { root, close } = await opened({ mode: "own", model: "small", text: "I go" });
  assert.match(root.textContent, /Softmax/);
  assert.doesNotMatch(root.textContent, /Logit lens/);
  close();
});

test("a button that its answer replaces hands the focus on", async () => {
  const { root, close } = await opened({ exercise: "1" });
  const press = async (selector) => {
    root.querySelector(selector).focus();
    root.querySelector(selector).click();
    await settle();
    return document.activeElement;
  };
  assert.match((await press("button.hidden-result")).textContent, /^[−\d.]+$/);
  assert.equal((await press("button[name=shuffle]")).name, "shuffle");
  assert.equal((await press("button[name=unshuffle]")).name, "shuffle");
  close();
});

test("an order of the address is one of all words", () => {
  assert.deepEqual(orderParam("2013"), [2, 0, 1, 3]);
  for (const text of ["0123", "2213", "20", "abcd", "", undefined]) assert.deepEqual(orderParam(text), [0, 1, 2, 3]);
});

test("the example is restored from the address", async () => {
  const { root, close } = await opened({ order: "3210", causal: "1", query: "1", key: "0", number: "2" });
  assert.deepEqual(texts(root, ".token"), ["바꾼다", "세상을", "가", "AI"]);
  assert.equal(root.querySelector(".token[aria-checked=true]").textContent, "세상을");
  assert.equal(root.querySelector("input[name=causal]").checked, true);
  assert.equal(root.querySelector(".dimension input").value, "3");
  assert.equal(root.querySelector("h3").textContent, "세상을 and 바꾼다");
  assert.ok(root.querySelector(".shuffled"));
  close();
});

test("shuffling keeps the chosen words", async () => {
  const { root, store, close } = await opened({ query: "2", key: "1" });
  root.querySelector("button[name=shuffle]").click();
  await settle();
  const { order, query, key } = store.url.value;
  assert.equal(order[Number(query)], "2");
  assert.equal(order[Number(key)], "1");
  root.querySelector("button[name=unshuffle]").click();
  await settle();
  assert.deepEqual([store.url.value.order, store.url.value.query, store.url.value.key], ["", "2", "1"]);
  close();
});

test("an own sentence begins at the last cross-attention", async () => {
  const { root, data, close } = await opened({ mode: "own", text: "I go" });
  assert.deepEqual(
    data.requests.map(({ layer, head, query }) => [layer, head, query]),
    [[1, 0, 0]],
  );
  assert.equal(root.querySelector("select[name=layer]").value, "1");
  assert.equal(root.querySelector(".steps").getAttribute("aria-busy"), "false");
  close();
});

test("another query keeps the steps until its numbers are there", async () => {
  const { root, data, store, close } = await opened({ mode: "own", text: "I go", key: "1" }, { delay: 20 });
  const card = root.querySelector("section.step");
  root.querySelectorAll(".token")[2].click();
  await Promise.resolve();
  assert.equal(store.url.value.key, "");
  await settle();
  assert.equal(root.querySelector("section.step"), card);
  assert.equal(data.requests.at(-1).query, 2);
  close();
});

test("leaving aborts what is loading", async () => {
  const { data, close } = await opened({ mode: "own", text: "I go" }, { delay: 10_000 });
  assert.equal(data.requests.length, 1);
  close();
  assert.equal(data.requests[0].signal.aborted, true);
});
