/** A view on the page over a backend of fixed answers. */

import { createStore } from "../../src/regard/web/core/store.js";
import { h, render } from "../../src/regard/web/core/ui.js";
import { createTraces } from "../../src/regard/web/data/traces.js";
import { newRoot, settle } from "./dom.js";

const MOST_ROUNDS = 50;

/** Wait until a part of the page stays as it is; a busy machine takes longer. */
export async function quiet(root = document.body) {
  let before = null;
  for (let round = 0; round < MOST_ROUNDS && before !== root.innerHTML; round += 1) {
    before = root.innerHTML;
    await settle();
  }
}

globalThis.AbortController = window.AbortController; // jsdom's listeners take its own signals alone
globalThis.addEventListener = window.addEventListener.bind(window);
globalThis.ResizeObserver = class {
  constructor(report) {
    this.report = report;
  }
  observe(element) {
    Object.defineProperty(element, "clientWidth", { value: 480, configurable: true }); // jsdom lays nothing out
    this.report();
  }
  disconnect() {}
};
globalThis.matchMedia = () => ({ matches: true, addEventListener() {} }); // reduced motion: no frames between two maps
globalThis.IntersectionObserver = class {
  observe() {}
  disconnect() {}
};

/**
 * A backend that answers each method with the value of a function; what is named in `waiting` is never answered, but can
 * be aborted. `log` has every request.
 */
export function backendOf(answers, { waiting = [] } = {}) {
  const log = [];
  const begun = (name, given) => {
    const request = { name, given, isAborted: false };
    given.at(-1)?.signal?.addEventListener("abort", () => {
      request.isAborted = true;
    });
    log.push(request);
    return request;
  };
  const never = (signal) =>
    new Promise((_, reject) => signal?.addEventListener("abort", () => reject(new DOMException("", "AbortError"))));
  const methods = Object.entries(answers).map(([name, answer]) => [
    name,
    async (...given) => {
      begun(name, given);
      return waiting.includes(name) ? never(given.at(-1)?.signal) : answer(...given);
    },
  ]);
  return { isEmbedded: false, log, begun, never, ...Object.fromEntries(methods) };
}

/** Open a view at an address; `leave` ends it. */
export async function openView(view, data, url = {}) {
  const store = createStore(data, createTraces(data));
  store.set({ view: view.id, ...url });
  await quiet();
  const root = newRoot();
  render(h(view.View, { store }), root);
  await quiet();
  const find = (selector) => root.querySelector(selector);
  return {
    root,
    store,
    find,
    texts: (selector) => [...root.querySelectorAll(selector)].map((element) => element.textContent),
    async click(selector) {
      find(selector).click();
      await quiet();
    },
    async choose(selector, value) {
      const control = find(selector);
      control.value = value;
      control.dispatchEvent(new Event(control.type === "range" ? "input" : "change", { bubbles: true }));
      await quiet();
    },
    leave() {
      render(null, root);
      store.dispose();
      root.remove();
    },
  };
}
