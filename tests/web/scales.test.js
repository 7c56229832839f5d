import assert from "node:assert/strict";
import test from "node:test";
import { nearestIndex, readableNumber, roundTicks, thinnedPoints } from "../../src/regard/web/charts/scales.js";

const RANGES = [
  [0, 7.06],
  [0, 0.005],
  [3, 3],
  [-1, 1],
  [0, 2000],
  [0.12, 0.13],
];

test("long curves are thinned without losing a peak", () => {
  const points = Array.from({ length: 9000 }, (_, x) => [x, x === 4321 ? 100 : x % 7]);
  const thinned = thinnedPoints(points, 200);
  assert.ok(thinned.length <= 200);
  assert.ok(thinned.some(([x, y]) => x === 4321 && y === 100));
  const places = thinned.map(([x]) => x);
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  );
});

for (const [low, high] of RANGES) {
  test(`ticks from ${low} to ${high} are few, round and hold the range`, () => {
    const ticks = roundTicks(low, high);
    assert.ok(ticks.length >= 2 && ticks.length <= 6);
    assert.ok(ticks[0] <= low && ticks[ticks.length - 1] >= high);
    assert.ok(ticks.every((tick) => String(tick).length <= 6));
  });
}

test("numbers are told with few digits", () => {
  const told = [0, 0.123456, 12.3456, 12345.6, -2.5, 0.00001, Number.NaN].map((number) => readableNumber(number));
  assert.deepEqual(told, ["0", "0.123", "12.3", "12,346", "−2.5", "1.0e−5", "–"]);
});

test("the nearest of ascending numbers is found", () => {
  const found = [-5, 0, 4, 6, 100].map((value) => nearestIndex([0, 5, 10], value));
  assert.deepEqual(found, [0, 0, 1, 1, 2]);
});
