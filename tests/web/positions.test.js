import assert from "node:assert/strict";
import test from "node:test";
import {
  countEncoding,
  distancesByOffset,
  distanceTable,
  encodingFromRows,
  fractionEncoding,
  measureCriteria,
  randomEncoding,
  rotated,
  sinusoidalEncoding,
} from "../../src/regard/web/math/positions.js";
import { assertClose, reference } from "./close.js";

const given = reference("positions.json");
const criteriaOf = (make, length, width, trained) => {
  const encoding = make(length, width);
  const criteria = measureCriteria((longer) => make(longer, width), encoding, distanceTable(encoding), trained);
  return Object.fromEntries(Object.entries(criteria).map(([name, { isMet }]) => [name, isMet]));
};

test("sines and cosines and their distances are numpy's", () => {
  const encoding = sinusoidalEncoding(given.length, given.width);
  assertClose([...encoding.values], given.values.flat());
  assertClose([...distanceTable(encoding)], given.distances.flat());
});

const EXPECTED = {
  sinusoidal: [sinusoidalEncoding, { unique: true, constant: true, bounded: true, deterministic: true }],
  count: [countEncoding, { unique: true, constant: true, bounded: false, deterministic: true }],
  fraction: [fractionEncoding, { unique: true, constant: false, bounded: true, deterministic: true }],
  random: [randomEncoding, { unique: true, constant: false, bounded: true, deterministic: false }],
};
for (const [name, [make, expected]] of Object.entries(EXPECTED)) {
  test(`the ${name} encoding meets its criteria and no others`, () => {
    assert.deepEqual(criteriaOf(make, 20, 16), expected);
  });
}

test("a table that training has not reached is not bounded", () => {
  assert.equal(criteriaOf(sinusoidalEncoding, 20, 16, 100).bounded, false);
  assert.equal(criteriaOf(sinusoidalEncoding, 20, 16, 200).bounded, true);
});

test("an encoding that ends is not bounded", () => {
  const rows = Array.from({ length: 20 }, (_, t) => [Math.sin(t), Math.cos(t)]);
  const make = (length) => (length <= rows.length ? encodingFromRows(rows.slice(0, length)) : null);
  const encoding = make(20);
  const { bounded } = measureCriteria(make, encoding, distanceTable(encoding));
  assert.deepEqual([bounded.isMet, bounded.largestLonger], [false, null]);
});

test("offsets have the range of their distances", () => {
  const encoding = countEncoding(6, 1);
  const offsets = distancesByOffset(distanceTable(encoding), 6);
  assert.deepEqual(
    offsets.map(({ offset, low, high, mean }) => [offset, low, high, mean]),
    [0, 1, 2, 3, 4, 5].map((offset) => [offset, offset, offset, offset]),
  );
});

test("a rotation keeps the length and adds angles", () => {
  assertClose(rotated(rotated([3, 4], 0.3), 0.4), rotated([3, 4], 0.7));
  assertClose(Math.hypot(...rotated([3, 4], 1.1)), 5);
});
