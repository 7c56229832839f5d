/** What a view begins ends with it: timers, and addresses of images. */

import assert from "node:assert/strict";
import test from "node:test";
import { backendOf, openView } from "./opened_view.js";

globalThis.ImageData = class {
  constructor(width, height) {
    this.data = new Uint8ClampedArray(4 * width * height);
  }
};
const { httpBackend } = await import("../../src/regard/web/data/http.js");
const { positionsView } = await import("../../src/regard/web/views/positions/positions.js");

test("no timer of Positions survives the view", async () => {
  const waiting = new Set();
  const { setTimeout: begin, clearTimeout: end } = globalThis;
  globalThis.setTimeout = (call, ...rest) => {
    const timer = begin(
      () => {
        waiting.delete(timer);
        call();
      },
      ...rest,
    );
    waiting.add(timer);
    return timer;
  };
  globalThis.clearTimeout = (timer) => {
    waiting.delete(timer);
    end(timer);
  };
  try {
    const data = backendOf({ models: () => ({ models: [] }) });
    const page = await openView(positionsView, data, {});
    const length = page.find("input[type=range]");
    length.value = "33";
    length.dispatchEvent(new Event("input", { bubbles: true })); // the criteria are measured a moment later
    page.leave();
    await new Promise((resolve) => begin(resolve, 30)); // renders that were due
    assert.equal(waiting.size, 0);
  } finally {
    Object.assign(globalThis, { setTimeout: begin, clearTimeout: end });
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
  } finally {
    Object.assign(globalThis, { fetch });
    Object.assign(URL, { createObjectURL, revokeObjectURL });
  }
});
