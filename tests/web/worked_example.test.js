import assert from "node:assert/strict";
import test from "node:test";
import { attend } from "../../src/regard/web/math/attention.js";
import {
  EXAMPLE,
  exampleDetail,
  exampleResults,
  IN_ORDER,
  orderDifference,
  shuffled,
} from "../../src/regard/web/math/worked_example.js";
import { assertClose } from "./close.js";

const ORDERS = [
  [3, 2, 1, 0],
  [1, 0, 2, 3],
  [2, 3, 0, 1],
];

test("the example's numbers can be checked by hand", () => {
  const { raw, weights, context } = attend(exampleDetail(0, false));
  assert.deepEqual(raw, [3, 0, 5, 6]);
  const exponentials = [1.5, 0, 2.5, 3].map(Math.exp);
  const total = exponentials.reduce((sum, value) => sum + value, 0);
  assertClose(
    weights,
    exponentials.map((value) => value / total),
  );
  assertClose(context, [weights[0] + weights[1] / 2, weights[2], weights[3]]);
});

test("a causal query has no weight on later words", () => {
  const { weights } = exampleResults(IN_ORDER, true);
  weights.forEach((row, query) => {
    assert.ok(row.every((weight, key) => key <= query || weight === 0));
  });
});

for (const order of ORDERS) {
  test(`without positions the order ${order} changes nothing`, () => {
    assert.ok(orderDifference(order, false) < 1e-12);
    assert.ok(orderDifference(order, true) > 0.01);
    const { weights, outputs } = exampleResults(order, false);
    const before = exampleResults(IN_ORDER, false);
    assertClose(
      weights,
      order.map((query) => order.map((key) => before.weights[query][key])),
    );
    assertClose(
      outputs,
      order.map((query) => before.outputs[query]),
    );
  });
}

test("shuffled words are the same words in another order", () => {
  for (let round = 0; round < 50; round += 1) {
    const order = shuffled(IN_ORDER);
    assert.notDeepEqual(order, IN_ORDER);
    assert.notDeepEqual(shuffled(order), IN_ORDER); // a second time, too
    assert.deepEqual([...order].sort(), IN_ORDER);
  }
  assert.equal(EXAMPLE.tokens.length, IN_ORDER.length);
});
