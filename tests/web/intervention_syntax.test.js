/** Interventions as text: what is read is what was written, and lists change as the reader expects. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { tokenPairs } from "../../src/regard/web/components/what_if/before_after.js";
import { listItems } from "../../src/regard/web/components/what_if/change_list.js";
import { changedState } from "../../src/regard/web/core/url.js";
import {
  formatList,
  headAction,
  headIntervention,
  hideIntervention,
  parseIntervention,
  parseList,
  toggle,
  toggleHead,
  weightInterventions,
  withoutIntervention,
  withoutPositions,
  withWeight,
} from "../../src/regard/web/math/intervention_syntax.js";

const HEAD = { role: "cross", layer: 1, head: 0 };

test("numbers count from 1 in text and from 0 in records", () => {
  assert.equal(headIntervention(HEAD, "zero"), "cross.2.1=zero");
  assert.deepEqual(parseIntervention("cross.2.1=zero"), { kind: "head", action: "zero", ...HEAD });
  assert.deepEqual(parseIntervention("encoder-self.*.*=uniform"), {
    kind: "head",
    action: "uniform",
    role: "encoder-self",
    layer: null,
    head: null,
  });
  assert.equal(hideIntervention("source", 3), "hide.source.4");
  assert.deepEqual(parseIntervention("hide.source.4"), { kind: "hide", side: "source", position: 3, scope: "" });
  assert.deepEqual(parseIntervention(withoutIntervention("causal-mask")), {
    kind: "without",
    part: "causal-mask",
    scope: "",
  });
});

test("weights are moved, taken away or set", () => {
  assert.deepEqual(weightInterventions(HEAD, [2, 3], [4, 5], 1), ["cross.2.1@3>5,6", "cross.2.1@4>5,6"]);
  assert.deepEqual(weightInterventions(HEAD, [2], [4, 5], 0), ["cross.2.1@3:5=0", "cross.2.1@3:6=0"]);
  assert.deepEqual(weightInterventions({ ...HEAD, layer: null, head: null }, [2], [4], 0.7), ["cross.*.*@3:5=0.7"]);
  const parsed = { kind: "weights", query: 2, keys: [4], weight: 0.7, role: "cross", layer: null, head: null };
  assert.deepEqual(parseIntervention("cross.*.*@3:5=0.7"), parsed);
  assert.deepEqual(parseIntervention("cross.*.*@3>5,6"), { ...parsed, keys: [4, 5], weight: null });
});

for (const text of ["temperature=0.7", "patch.memory@3<4;other", "cross.2.1@3=renormalise", "x", "cross.a.b=zero"]) {
  test(`${text} is kept as it is written`, () => {
    assert.deepEqual(parseIntervention(text), { kind: "other" });
    assert.deepEqual(listItems([text], null), [{ label: text, texts: [text] }]);
  });
}

test("a weight that is set again replaces the one before", () => {
  const first = withWeight(["without.scaling"], HEAD, [2], [4], 0.7);
  assert.deepEqual(first, ["without.scaling", "cross.2.1@3:5=0.7"]);
  assert.deepEqual(withWeight(first, HEAD, [2], [4], 1), ["without.scaling", "cross.2.1@3>5"]);
  assert.deepEqual(withWeight(first, HEAD, [2], [3], 0), [...first, "cross.2.1@3:4=0"]);
  assert.deepEqual(withWeight(first, HEAD, [2], [4], null), ["without.scaling"]);
  assert.deepEqual(withWeight(first, { ...HEAD, head: 1 }, [2], [4], null), first);
});

test("toggling twice gives the list before", () => {
  const list = ["without.scaling"];
  for (const texts of [["hide.source.1"], ["hide.source.1", "hide.source.2"]])
    assert.deepEqual(toggle(toggle(list, texts), texts), list);
  assert.deepEqual(toggleHead(toggleHead(list, HEAD, "zero"), HEAD, "mean"), list);
  assert.deepEqual(toggle(["hide.source.1"], ["hide.source.1", "hide.source.2"]), ["hide.source.1", "hide.source.2"]);
});

test("a head is disabled by name, by layer or by role", () => {
  for (const text of ["cross.2.1=zero", "cross.2.*=zero", "cross.*.*=zero"])
    assert.equal(headAction([text], HEAD), "zero");
  for (const text of ["cross.1.1=zero", "encoder-self.2.1=zero", "cross.2.1@3=uniform"])
    assert.equal(headAction([text], HEAD), null);
  assert.equal(headAction(["cross.2.1=zero", "cross.2.1=mean"], HEAD), "mean");
});

test("another text keeps the changes without a position", () => {
  const list = ["cross.2.1=zero", "hide.source.4", "cross.2.1@3:5=0.7", "without.positions", "patch.memory@1<1;a"];
  assert.deepEqual(withoutPositions(list), ["cross.2.1=zero", "without.positions"]);
  const state = { model: "m", text: "a", changes: formatList(list) };
  assert.deepEqual(parseList(changedState(state, { text: "b" }).changes), ["cross.2.1=zero", "without.positions"]);
  assert.equal(changedState(state, { model: "n" }).changes, undefined);
  assert.deepEqual(parseList(changedState(state, { layer: "1" }).changes), list);
});

test("the tokens of a word are one item of the list", () => {
  const side = { pieces: ["▁do", "g", "</s>"], word_pieces: [[0, 1], [2]], words: ["dog", "</s>"] };
  const trace = { source: side, target: side };
  assert.deepEqual(listItems(["hide.source.2", "without.scaling", "hide.source.1"], trace), [
    { label: "“dog” is struck out", texts: ["hide.source.1", "hide.source.2"] },
    { label: "Without scaling", texts: ["without.scaling"] },
  ]);
  assert.deepEqual(
    listItems(["hide.source.1"], trace).map(({ texts }) => texts),
    [["hide.source.1"]],
  );
});

test("predictions are paired by token, the most probable first", () => {
  const token = (piece, probability, chosen = false) => ({ piece, probability, rank: 1, is_chosen: chosen });
  const pairs = tokenPairs([token("a", 0.6, true), token("b", 0.3)], [token("c", 0.9), token("a", 0.05)]);
  assert.deepEqual(
    pairs.map(({ token: piece, before, after, isChosen }) => [piece, before, after, isChosen]),
    [
      ["c", null, 0.9, false],
      ["a", 0.6, 0.05, true],
      ["b", 0.3, null, false],
    ],
  );
});
