/** What a view or a page begins ends with it: timers, listeners, observers, requests, and addresses of images. */

import assert from "node:assert/strict";
import test from "node:test";
import { backendOf, openView, quiet } from "./opened_view.js";

globalThis.ImageData = class {
  constructor(width, height) {
    this.data = new Uint8ClampedArray(4 * width * height);
  }
};
for (const name of ["location", "history", "navigator"]) globalThis[name] ??= window[name];
window.Element.prototype.scrollIntoView = () => {}; // jsdom lays nothing out
window.HTMLCanvasElement.prototype.getContext = () => null; // and paints nothing
document.querySelector("p"); // with the first selector, jsdom adds listeners of its own
const { httpBackend } = await import("../../src/regard/web/data/http.js");
const { VIEWS } = await import("../../src/regard/web/entries/more_views.js");
const { mountPage } = await import("../../src/regard/web/page/mount_page.js");
const { render } = await import("../../src/regard/web/entries/widget.js");
const { startView } = await import("../../src/regard/web/views/start/start.js");
const { positionsView } = await import("../../src/regard/web/views/positions/positions.js");

/** All timers, observers and listeners of the document that have begun and not ended; `stop` ends the watch. */
function watchLifetimes() {
  const begun = new Set();
  const { setTimeout: begin, clearTimeout: end, matchMedia, ResizeObserver, IntersectionObserver } = globalThis;
  let fired = 0;
  globalThis.setTimeout = (call, delay = 0, ...rest) => {
    const act = () => {
      begun.delete(timer);
      if (delay > 0) fired += 1;
      call(...rest);
    };
    const timer = begin(act, delay);
    begun.add(timer);
    return timer;
  };
  globalThis.clearTimeout = (timer) => {
    begun.delete(timer);
    end(timer);
  };
  const watchTarget = (target) => {
    const { addEventListener: add, removeEventListener: remove } = target;
    target.addEventListener = (type, listener, options) => {
      begun.add(listener);
      options?.signal?.addEventListener("abort", () => begun.delete(listener));
      add.call(target, type, listener, options);
    };
    target.removeEventListener = (type, listener) => {
      begun.delete(listener);
      remove.call(target, type, listener);
    };
    return () => Object.assign(target, { addEventListener: add, removeEventListener: remove });
  };
  const unwatch = [watchTarget(globalThis), watchTarget(document)];
  globalThis.matchMedia = () => {
    const media = Object.assign(new EventTarget(), { matches: false });
    watchTarget(media);
    return media;
  };
  const watched = (Observer) =>
    class extends Observer {
      observe(element) {
        begun.add(this);
        super.observe(element);
      }
      disconnect() {
        begun.delete(this);
        super.disconnect();
      }
    };
  Object.assign(globalThis, {
    ResizeObserver: watched(ResizeObserver),
    IntersectionObserver: watched(IntersectionObserver),
  });
  return {
    begun,
    fired: () => fired, // timers with a delay
    rest: (time = 30) => new Promise((resolve) => begin(resolve, time)), // renders and effects that are due
    stop() {
      for (const end of unwatch) end();
      Object.assign(globalThis, {
        setTimeout: begin,
        clearTimeout: end,
        matchMedia,
        ResizeObserver,
        IntersectionObserver,
      });
    },
  };
}

test("no timer of Positions survives the view", async () => {
  const { begun, fired, rest, stop } = watchLifetimes();
  try {
    const data = backendOf({ models: () => ({ models: [] }) });
    const page = await openView(positionsView, data, {});
    const length = page.find("input[type=range]");
    length.value = "33";
    length.dispatchEvent(new Event("input", { bubbles: true })); // the criteria are measured a moment later
    await rest();
    page.leave();
    const before = fired();
    await rest(150);
    assert.equal(fired(), before);
    assert.deepEqual([...begun], []);
  } finally {
    stop();
  }
});

const MODEL = { name: "m", kind: "transformer", source: "en", target: "ko", is_ready: true, has_attention: true, parameters: 1, score: null, query_state: null }; // biome-ignore format: one record
const TASKS = { language: "text-generation", decide: "classification", pictures: "image-to-text" };
const RUN = { name: "m", kind: "transformer", steps: 9, step: 1, state: "training", model: "m" };

/** A server that lists a model and a run that goes on, and never answers anything else. */
function silentServer(task) {
  const answers = {
    models: () => ({ models: [{ ...MODEL, task }] }),
    runs: () => ({ runs: [RUN] }),
    runEvents: (_run, after) => ({ events: after ? [] : [{ event: "start", step: 0 }], next: 1 }),
  };
  const waiting = Object.keys(httpBackend()).filter((name) => !(name in answers) && name !== "isEmbedded");
  const data = backendOf({ ...Object.fromEntries(waiting.map((name) => [name, null])), ...answers }, { waiting });
  for (const name of ["stream", "caption"]) {
    const never = data[name];
    data[name] = async function* (...given) {
      yield await never(...given);
    };
  }
  const unanswered = () => data.log.filter(({ name, isAborted }) => waiting.includes(name) && !isAborted);
  return { ...data, unanswered };
}

for (const view of [startView, ...VIEWS]) {
  test(`a page that is closed in ${view.id} leaves nothing behind`, async () => {
    const { begun, rest, stop } = watchLifetimes();
    const root = document.body.appendChild(document.createElement("div"));
    const data = silentServer(TASKS[view.id] ?? "translation");
    location.hash = `#${view.id}?text=a+b&run=m`;
    try {
      const close = mountPage(root, { data, views: [startView, ...VIEWS], ownsDocument: true });
      await quiet(root);
      assert.equal(root.querySelector(".views [aria-current]").getAttribute("href").split("?")[0], `#${view.id}`);
      assert.ok(begun.size > 3);
      close();
      await rest();
      assert.equal(root.childNodes.length, 0);
      assert.deepEqual([...begun], []);
      assert.deepEqual(data.unanswered(), []);
      const requests = data.log.length;
      document.dispatchEvent(new Event("visibilitychange"));
      location.hash = "#inside";
      await rest();
      assert.equal(data.log.length, requests);
    } finally {
      stop();
      root.remove();
    }
  });
}

test("a widget whose cell runs again leaves nothing behind", async () => {
  const { begun, rest, stop } = watchLifetimes();
  const el = document.body.appendChild(document.createElement("div"));
  const data = { models: [{ ...MODEL, task: "text-generation", has_attention: false }], source: "a b" };
  try {
    const close = render({ model: { get: () => JSON.stringify(data) }, el });
    await quiet(el);
    assert.ok(begun.size > 0);
    close();
    await rest();
    assert.equal(el.childNodes.length, 0);
    assert.deepEqual([...begun], []);
  } finally {
    stop();
    el.remove();
  }
});

test("the address of an image is revoked with its view", async () => {
  const addresses = new Set();
  const { createObjectURL, revokeObjectURL } = URL;
  URL.createObjectURL = () => {
    addresses.add("blob:1");
    return "blob:1";
  };
  URL.revokeObjectURL = (address) => addresses.delete(address);
  const { fetch } = globalThis;
  globalThis.fetch = async () => ({ ok: true, blob: async () => new Blob(["image"]) });
  try {
    const backend = httpBackend("api/v1", { value: () => "a key", renew: async () => {} });
    const view = new AbortController();
    assert.equal(await backend.exampleImage("m", 0, { signal: view.signal }), "blob:1");
    assert.equal(addresses.size, 1);
    view.abort();
    assert.equal(addresses.size, 0);
    const left = new AbortController();
    const late = backend.exampleImage("m", 0, { signal: left.signal });
    left.abort(); // the image arrives all the same
    await assert.rejects(late);
    assert.equal(addresses.size, 0);
  } finally {
    Object.assign(globalThis, { fetch });
    Object.assign(URL, { createObjectURL, revokeObjectURL });
  }
});
