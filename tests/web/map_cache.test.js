import assert from "node:assert/strict";
import test from "node:test";
import { createMapCache } from "../../src/regard/web/data/map_cache.js";

/** A fetch that answers when it is told to. */
function heldFetch() {
  const asked = [];
  const fetch = (name) => new Promise((resolve, reject) => asked.push({ name, resolve, reject }));
  return { asked, fetch };
}

const map = (size = 4) => ({ weights: new Float32Array(size), rows: 1, columns: size });
const soon = () => new Promise((resolve) => setTimeout(resolve));

test("maps are fetched one at a time, the latest request first, and once", async () => {
  const { asked, fetch } = heldFetch();
  const cache = createMapCache(fetch);
  const maps = ["a", "b", "c", "a"].map((name) => cache.get(name));
  assert.equal(maps[0], maps[3]);
  for (const expected of [["a"], ["a", "c"], ["a", "c", "b"]]) {
    await soon();
    assert.deepEqual(
      asked.map(({ name }) => name),
      expected,
    );
    asked.at(-1).resolve(map());
  }
  await Promise.all(maps);
});

test("a map that failed is fetched again", async () => {
  const { asked, fetch } = heldFetch();
  const cache = createMapCache(fetch);
  const first = cache.get("a");
  asked[0].reject(new Error("busy"));
  await assert.rejects(first, /busy/);
  const second = cache.get("a");
  await soon();
  asked[1].resolve(map());
  assert.equal((await second).columns, 4);
});

test("forgetting rejects what still waits", async () => {
  const { asked, fetch } = heldFetch();
  const cache = createMapCache(fetch);
  const [running, waiting] = [cache.get("a"), cache.get("b")];
  cache.forget();
  await assert.rejects(waiting, { name: "AbortError" });
  asked[0].resolve(map());
  await running;
  await soon();
  assert.equal(asked.length, 1);
});

test("the maps used last are kept within the limit", async () => {
  const sizes = { a: 5_000_000, b: 5_000_000, c: 5_000_000 };
  const asked = [];
  const cache = createMapCache(async (name) => {
    asked.push(name);
    return map(sizes[name]);
  });
  for (const name of ["a", "b", "a", "c", "a", "b"]) await cache.get(name);
  assert.deepEqual(asked, ["a", "b", "c", "b"]);
});
