/** Comparing numbers with float64 references. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

/** A file of references/, written by references/write.py. */
export const reference = (name) => JSON.parse(readFileSync(new URL(`./references/${name}`, import.meta.url), "utf-8"));

/** Numbers, or lists of them however deep, that differ by rounding alone. */
export function assertClose(actual, expected, tolerance = 1e-12) {
  if (typeof expected === "number") {
    const isClose = Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected));
    return assert.ok(isClose, `${actual} is not ${expected}`);
  }
  assert.equal(actual.length, expected.length);
  for (const [index, value] of expected.entries()) assertClose(actual[index], value, tolerance);
}
