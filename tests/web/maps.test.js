import assert from "node:assert/strict";
import test from "node:test";
import { csvText } from "../../src/regard/web/charts/save.js";
import { darkestWeight, headStats } from "../../src/regard/web/math/head_stats.js";
import { betweenMaps, shrunkMap, wordMap } from "../../src/regard/web/math/maps.js";

/** Numbers that look random and are the same in each run. */
const numbers = (count) =>
  Float32Array.from({ length: count }, (_, index) => (Math.sin(index * 12.9898) * 43758.5453) % 1).map(Math.abs);

/** A map whose rows sum to one. */
function attention(rows, columns) {
  const raw = numbers(rows * columns);
  return raw.map((value, index) => {
    const start = Math.floor(index / columns) * columns;
    return value / raw.subarray(start, start + columns).reduce((sum, one) => sum + one, 0);
  });
}

test("rows of a map of words still sum to one", () => {
  const weights = attention(4, 5);
  const merged = wordMap(weights, 5, [[0], [1, 2], [3]], [[0, 1, 2], [3], [4]]);
  for (const row of [0, 1, 2]) {
    assert.ok(Math.abs(merged[row * 3] + merged[row * 3 + 1] + merged[row * 3 + 2] - 1) < 1e-6);
  }
  const expected = [5, 6, 7, 10, 11, 12].reduce((sum, index) => sum + weights[index], 0) / 2;
  assert.ok(Math.abs(merged[3] - expected) < 1e-6);
});

test("a small map keeps the largest weight of each block", () => {
  const weights = numbers(100 * 37);
  const small = shrunkMap(weights, 100, 37, 20);
  assert.deepEqual([small.rows, small.columns], [20, 19]);
  for (const [row, column] of [
    [0, 0],
    [7, 11],
    [19, 18],
  ]) {
    let largest = 0;
    for (let r = row * 5; r < row * 5 + 5; r += 1) {
      for (let c = column * 2; c < Math.min(37, column * 2 + 2); c += 1)
        largest = Math.max(largest, weights[r * 37 + c]);
    }
    assert.equal(small.weights[row * 19 + column], largest);
  }
  assert.equal(shrunkMap(weights, 100, 37, 100).weights, weights);
});

test("a map between two others goes from one to the other", () => {
  const [from, to] = [Float32Array.of(0, 1), Float32Array.of(1, 0)];
  assert.deepEqual([...betweenMaps(from, to, 0.25)], [0.25, 0.75]);
  assert.equal(betweenMaps(from, to, 1), to);
  assert.equal(betweenMaps(Float32Array.of(1), to, 0.5), to);
});

test("head statistics of even and of sharp attention", () => {
  const even = headStats(new Float32Array(16).fill(0.25), 4, 4, true);
  assert.ok(Math.abs(even.reach - 4) < 1e-6);
  assert.ok(Math.abs(even.same - 0.25) < 1e-6);
  const previous = Float32Array.of(1, 0, 0, 1, 0, 0, 0, 1, 0);
  const sharp = headStats(previous, 3, 3, true);
  assert.ok(Math.abs(sharp.reach - 1) < 1e-6);
  assert.ok(Math.abs(sharp.previous - 2 / 3) < 1e-6);
});

test("only long maps are drawn darker than their weights", () => {
  assert.equal(darkestWeight(attention(4, 5), 5), 1);
  const long = attention(100, 100);
  const darkest = darkestWeight(long, 100);
  assert.ok(darkest >= 0.04 && darkest < 1);
});

test("CSV quotes what needs quotes", () => {
  const text = csvText({ header: ["", 'say "hi"', "a,b"], rows: [["두\n줄", 0.5, -1]] });
  assert.equal(text, ',"say ""hi""","a,b"\r\n"두\n줄",0.5,-1\r\n');
});
