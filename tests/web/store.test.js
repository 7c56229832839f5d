/** The state of the page: what the address holds, what a change clears, and which changes Back takes back. */

import "./dom.js";
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createStore } from "../../src/regard/web/core/store.js";
import {
  changedState,
  formatHash,
  indexParam,
  isStep,
  numberParam,
  PARAMS,
  parseHash,
} from "../../src/regard/web/core/url.js";

const MODELS = [
  { name: "slow", is_ready: false, has_attention: true },
  { name: "small", is_ready: true, has_attention: true },
  { name: "large", is_ready: true, has_attention: true },
];
const stores = [];

function makeStore({ hash = "", isEmbedded = false, models = async () => ({ models: MODELS }) } = {}) {
  location.hash = hash;
  const store = createStore({ isEmbedded, models }, {}, { usesUrl: true });
  stores.push(store);
  return store;
}

const later = (ms = 20) => new Promise((resolve) => setTimeout(resolve, ms));

beforeEach(() => {
  for (const name of ["location", "history", "addEventListener", "AbortController"])
    globalThis[name] = name === "addEventListener" ? window.addEventListener.bind(window) : window[name];
});
afterEach(() => {
  for (const store of stores.splice(0)) store.dispose();
});

test("a malformed index or number of an address is none", () => {
  for (const text of [undefined, "", "-1", "1.5", "3", "1e0", "1/2", "mean", "__proto__"])
    assert.equal(indexParam(text, 3), null);
  assert.equal(indexParam("2", 3), 2);
  const bounds = { min: 2, max: 9, usual: 4 };
  const numbers = [undefined, "", "x", "NaN", "-1", "2.5", "1e999"].map((text) => numberParam(text, bounds));
  assert.deepEqual(numbers, [4, 4, 4, 4, 2, 2.5, 9]);
});

test("an address and its state are one another's inverse", () => {
  const states = [
    { view: "heads" },
    { view: "translate", model: "a b/c", text: "100 % & more? #1 = “좋아요” +\n" },
    Object.fromEntries(Object.keys(PARAMS).map((name) => [name, `${name} value`])),
  ];
  for (const state of states) assert.deepEqual(parseHash(formatHash(state)), state);
  assert.equal(formatHash({ view: "heads", head: "" }), "#heads");
  assert.deepEqual(parseHash(""), { view: "" });
});

test("another model clears what belongs to the model and its text", () => {
  const state = { view: "inside", model: "a", text: "t", layer: "1", query: "2", units: "words", target: "x" };
  assert.deepEqual(changedState(state, { model: "b" }), { view: "inside", model: "b", text: "t", units: "words" });
  assert.deepEqual(changedState(state, { model: "a" }), state);
});

test("another text clears what belongs to the text alone", () => {
  const state = { view: "inside", model: "a", text: "t", layer: "1", query: "2", units: "words", target: "x" };
  const { query: _query, target: _target, ...kept } = state;
  assert.deepEqual(changedState(state, { text: "u" }), { ...kept, text: "u" });
  assert.equal(changedState(state, { text: "u", query: "0" }).query, "0");
});

test("views, models and texts are steps; other choices are not", () => {
  const state = { view: "heads", model: "a", text: "t", use: "cross" };
  for (const name of ["view", "model", "text"]) assert.ok(isStep(state, { ...state, [name]: "other" }), name);
  assert.ok(!isStep(state, { ...state, role: "encoder-self" }));
  assert.ok(!isStep({ view: "heads" }, { view: "heads", text: "the first one" }));
});

test("the first ready model with attention is shown, and stays", async () => {
  let models = MODELS;
  const store = makeStore({ hash: "#heads", models: async () => ({ models }) });
  await later();
  assert.equal(store.model.value.name, "small");
  models = [{ ...MODELS[0], is_ready: true }, ...MODELS.slice(1)];
  store.set({ units: "words" });
  assert.equal(store.model.value.name, "small");
});

test("the address names the model; a file's does not", async () => {
  const store = makeStore({ hash: "#heads" });
  await later();
  assert.match(store.link(), /#heads\?model=small$/);
  const file = makeStore({ hash: "#heads", isEmbedded: true });
  await later();
  assert.match(file.link(), /#heads$/);
});

test("a choice is written a moment later, a step at once", async () => {
  const store = makeStore({ hash: "#heads?model=small&text=a" });
  await later();
  const before = history.length;
  store.set({ role: "encoder-self" });
  assert.ok(!location.hash.includes("encoder-self"));
  store.set({ text: "b" });
  assert.equal(history.length, before + 1);
  assert.ok(location.hash.includes("text=b"));
  assert.ok(location.hash.includes("role=encoder-self"));
  store.set({ units: "words" });
  await later(300);
  assert.ok(location.hash.includes("units=words"));
  assert.equal(history.length, before + 1);
});

test("Back restores the sentence before, with the choices made there", async () => {
  const store = makeStore({ hash: "#heads?model=small&text=a" });
  await later();
  store.set({ pinned: "target.1" });
  store.draft.value = "typed";
  store.set({ text: "b" });
  assert.equal(store.url.value.pinned, undefined);
  history.back();
  await later(100);
  assert.equal(store.text.value, "a");
  assert.equal(store.url.value.pinned, "target.1");
  assert.equal(store.draft.value, null);
});

test("a delayed write does not undo a link just followed", async () => {
  const store = makeStore({ hash: "#inside?model=small" });
  await later();
  store.set({ units: "words" }); // to be written in a moment
  const end = performance.now() + 300;
  while (performance.now() < end); // a busy page: the write is due before the event of the new address
  location.hash = "#heads?model=small";
  await later(50);
  assert.equal(location.hash, "#heads?model=small");
  assert.equal(store.url.value.view, "heads");
});

test("a server that does not answer is shown as offline, and the page starts", async () => {
  const unreachable = Object.assign(new Error("none"), { code: "unreachable" });
  const store = makeStore({ models: () => Promise.reject(unreachable) });
  await later();
  assert.ok(store.isOffline.value);
  assert.ok(store.isStarted.value);
});
