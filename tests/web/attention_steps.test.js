import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { newRoot, settle } from "./dom.js";

globalThis.ResizeObserver = class {
  observe() {}
  disconnect() {}
};
const { h, render } = await import("../../src/regard/web/core/ui.js");
const { language } = await import("../../src/regard/web/core/i18n.js");
const { AttentionSteps, keysShown } = await import(
  "../../src/regard/web/components/attention_steps/attention_steps.js"
);
const { inPairs } = await import("../../src/regard/web/components/attention_steps/block_cards.js");
const { residuals } = await import("../../src/regard/web/components/attention_steps/step_map.js");
const { stepChoice } = await import("../../src/regard/web/components/attention_steps/step_params.js");
const { SCORE_FUNCTIONS } = await import("../../src/regard/web/components/score_functions.js");
const { SCORES } = await import("../../src/regard/web/math/attention.js");
const { hidesResults } = await import("../../src/regard/web/components/exercise.js");
const { MatrixTable } = await import("../../src/regard/web/components/number_table.js");
const { NumberTable } = await import("../../src/regard/web/components/number_table.js");
const { numberText, smallText } = await import("../../src/regard/web/components/number_text.js");
const { TokenRow } = await import("../../src/regard/web/components/token_row.js");
const { VectorStrip } = await import("../../src/regard/web/components/vector_bar_list.js");
const { subscript, WrittenSum } = await import("../../src/regard/web/components/written_sum.js");
const { ACTIVATIONS } = await import("../../src/regard/web/math/block.js");
const { exampleDetail } = await import("../../src/regard/web/math/worked_example.js");

const MATHML = "http://www.w3.org/1998/Math/MathML";

/** The choices of a config, by the name of their Literal. */
function configChoices(name) {
  const config = readFileSync(new URL("../../src/regard/config.py", import.meta.url), "utf-8");
  const [, choices] = new RegExp(`^${name} = Literal\\[([^\\]]+)\\]`, "m").exec(config);
  return [...choices.matchAll(/"([^"]+)"/g)].map(([, choice]) => choice);
}

async function shown(node) {
  const root = newRoot();
  render(node, root);
  await settle();
  return root;
}

const press = (element, key) =>
  element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));

test("every score of a config has an entry and arithmetic", () => {
  const scores = configChoices("ScoreName").sort();
  assert.deepEqual(Object.keys(SCORE_FUNCTIONS).sort(), scores);
  assert.deepEqual(Object.keys(SCORES).sort(), scores);
});

test("every activation of a config has a function", () => {
  const config = readFileSync(new URL("../../src/regard/config.py", import.meta.url), "utf-8");
  const [, choices] = /activation: Literal\[([^\]]+)\]|^Activation\w* = Literal\[([^\]]+)\]/m
    .exec(config)
    .filter(Boolean);
  assert.deepEqual(
    [...choices.matchAll(/"([^"]+)"/g)].map(([, choice]) => choice).sort(),
    Object.keys(ACTIVATIONS).sort(),
  );
});

test("the example has its steps in their order, with formulas in MathML", async () => {
  const params = {};
  const root = await shown(h(AttentionSteps, { detail: exampleDetail(0, false), params, onChange() {} }));
  const titles = [...root.querySelectorAll("section.step h2")].map((title) => title.textContent);
  assert.deepEqual(titles, [
    "Query, keys and values",
    "Compare the query with every key",
    "Divide by the square root of d",
    "Mask",
    "Softmax: scores become weights",
    "Weighted sum of the values",
  ]);
  assert.equal(root.querySelector("math mi").namespaceURI, MATHML);
  const raw = [...root.querySelectorAll("table.keys")][0].querySelectorAll("tbody .number");
  assert.deepEqual(
    [...raw].map(({ dataset }) => Number(dataset.value)),
    [3, 0, 5, 6],
  );
  const ids = [...root.querySelectorAll("[id]")].map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
});

test("one step is shown alone and chosen in the diagram", async () => {
  const changes = [];
  const draw = (params) =>
    h(AttentionSteps, { detail: exampleDetail(0, false), params, onChange: (change) => changes.push(change) });
  const all = await shown(draw({}));
  assert.equal(all.querySelectorAll("section.step").length, 6);
  const root = await shown(draw({ step: "softmax" }));
  assert.equal(root.querySelectorAll("section.step").length, 1);
  assert.match(root.querySelector("[aria-current=step]").textContent, /^5 Softmax/);
  assert.equal(root.querySelector(".step-at").textContent, "Step 5 of 6");
  for (const button of root.querySelectorAll(".step-map .controls button, .step-map li button")) button.click();
  for (const button of root.querySelectorAll(".step-map .segments button")) button.click();
  const ids = ["projections", "scores", "scaling", "visibility", "softmax", "context"];
  assert.deepEqual(
    changes.map(({ step }) => step),
    [...ids, "visibility", "context", "", "softmax"],
  );
});

test("residual connections go around each sub-layer", () => {
  const ids = ["x", "norm-attention", "projections", "context", "add-own", "inner", "outer", "add-network"];
  assert.deepEqual(residuals(ids), [
    [0, 4],
    [4, 7],
  ]);
  assert.deepEqual(residuals(["x", "other-self-attention", "scores", "add-own"]), [[1, 3]]);
  assert.deepEqual(residuals(["projections", "scores"]), []);
});

test("an exercise hides results until they are asked for", async () => {
  hidesResults.value = true;
  const root = await shown(h(AttentionSteps, { detail: exampleDetail(0, false), params: {}, onChange() {} }));
  const weights = () => [...root.querySelectorAll("[data-step=softmax] table.keys td")].map((cell) => cell.textContent);
  assert.ok(weights().every((text) => text === "?"));
  assert.equal(root.querySelector(".weights-picture"), null);
  assert.doesNotMatch(root.querySelector("[data-step=context]").textContent, /0\.\d{4}/, "weights of the sum");
  root.querySelector("[data-step=softmax] table.keys td:last-child button").click();
  await settle();
  assert.equal(weights()[2], "0.1187");
  assert.equal(weights().filter((text) => text === "?").length, 11);
  const matrix = await shown(h(MatrixTable, { rows: [[0.25]], caption: "weights", areResults: true }));
  assert.equal(matrix.querySelector("td").textContent, "?");
  hidesResults.value = false;
  await settle();
  assert.ok(!weights().includes("?"));
  assert.equal(matrix.querySelector("td").textContent, "0.25");
});

test("a key is chosen in one table and marked in all of them", async () => {
  const changes = [];
  const detail = exampleDetail(0, false);
  const root = newRoot();
  const draw = (params) =>
    render(h(AttentionSteps, { detail, params, onChange: (change) => changes.push(change) }), root);
  draw({});
  await settle();
  const button = root.querySelector("[data-key='2']");
  button.click();
  assert.deepEqual(changes, [{ key: "2" }]);
  draw({ key: "2" });
  await settle();
  const tables = root.querySelectorAll("table.keys");
  assert.equal(root.querySelectorAll("tr.is-chosen [data-key='2']").length, tables.length);
  assert.equal(root.querySelector("[data-key='2']"), button, "the element stays, and with it the focus");
  assert.equal(root.querySelectorAll("h3")[0].textContent, "AI and 세상을");
});

test("a switch adds a column, and what it changes in numbers", async () => {
  const root = await shown(
    h(AttentionSteps, { detail: exampleDetail(1, true), params: { unmasked: "1" }, onChange() {} }),
  );
  const facts = [...root.querySelectorAll(".changed tbody tr")].at(-1).querySelectorAll(".number");
  assert.equal(facts[0].dataset.value, "0");
  assert.ok(Number(facts[1].dataset.value) > 0.1);
});

test("the steps speak the page's language without losing anything", async () => {
  const root = await shown(h(AttentionSteps, { detail: exampleDetail(0, false), params: {}, onChange() {} }));
  const card = root.querySelector("section.step");
  language.value = "ko";
  await settle();
  assert.match(root.querySelectorAll("h2")[4].textContent, /소프트맥스/);
  assert.equal(root.querySelector("section.step"), card);
  language.value = "en";
  await settle();
});

test("a long sentence has rows for the largest weights and the chosen key", () => {
  const weights = Array.from({ length: 40 }, (_, key) => key / 780);
  assert.deepEqual(keysShown(weights, 3, false), [3, ...Array.from({ length: 24 }, (_, index) => index + 16)]);
  assert.equal(keysShown(weights, 3, true).length, 40);
});

test("cards stand in pairs, an odd one first and alone", () => {
  const card = (id, isWide = false) => ({ id, Card: newRoot, isWide });
  const halves = (...entries) => inPairs(entries).map(({ isHalf }) => isHalf);
  assert.deepEqual(halves(card("a"), card("b")), [true, true]);
  assert.deepEqual(halves(card("a"), null, card("b"), card("c")), [false, true, true]);
  assert.deepEqual(halves(card("a"), card("wide", true), card("b"), card("c")), [false, false, true, true]);
});

test("by default the key with the largest weight is written out", () => {
  const detail = { ...exampleDetail(0, false), layer: { ...exampleDetail(0, false).layer, name: "cross" } };
  assert.equal(stepChoice({}, detail).key, 3);
  assert.equal(stepChoice({ key: "1" }, detail).key, 1);
  assert.equal(stepChoice({ unmasked: "1" }, detail).isUnmasked, false, "nothing is masked here");
});

test("a vector's numbers are chosen by arrow keys", async () => {
  const chosen = [];
  const strip = h(VectorStrip, { values: [1, -2, 3], label: "q", chosen: 1, onChoose: (index) => chosen.push(index) });
  const svg = (await shown(strip)).querySelector("svg");
  assert.equal(svg.getAttribute("role"), "slider");
  assert.equal(svg.getAttribute("aria-valuetext"), "2: −2.0000");
  for (const key of ["ArrowRight", "ArrowLeft", "Home", "End", "PageUp", "x"]) press(svg, key);
  assert.deepEqual(chosen, [2, 0, 0, 2, 2]);
  const picture = (await shown(h(VectorStrip, { values: [1, -2, 3], label: "q" }))).querySelector("svg");
  assert.equal(picture.getAttribute("role"), "img");
  const bars = [...picture.querySelectorAll("path")].map((path) => path.getAttribute("d").match(/M/g).length);
  assert.deepEqual(bars, [2, 1], "up, down");
});

test("a wide vector takes few elements", async () => {
  const values = Array.from({ length: 2048 }, (_, index) => Math.sin(index));
  const root = await shown(h(VectorStrip, { values, label: "a" }));
  assert.ok(root.querySelectorAll("*").length < 10);
});

test("arrow keys choose a token and take the focus along", async () => {
  const root = newRoot();
  const draw = (chosen) =>
    render(h(TokenRow, { label: "Query", tokens: ["▁a", "b", "c"], chosen, onChoose: draw }), root);
  draw(0);
  await settle();
  const tokens = () => [...root.querySelectorAll(".token")];
  tokens()[0].focus();
  press(tokens()[0], "ArrowRight");
  await settle();
  assert.equal(document.activeElement, tokens()[1]);
  assert.deepEqual(
    tokens().map((token) => [token.textContent, token.getAttribute("aria-checked"), token.tabIndex]),
    [
      ["a", "false", -1],
      ["b", "true", 0],
      ["c", "false", -1],
    ],
  );
});

test("a sum shows its first terms, the rest on demand, and its total", async () => {
  const terms = Array.from({ length: 10 }, (_, index) => ({ label: index + 1, parts: [], value: index }));
  const root = await shown(h(WrittenSum, { terms, total: 45, label: "sum" }));
  const values = () =>
    [...root.querySelectorAll("tbody td:last-child .number")].map(({ dataset }) => Number(dataset.value));
  assert.deepEqual(values(), [0, 1, 2, 3, 4, 5, 30]);
  root.querySelector("button").click();
  await settle();
  assert.deepEqual(values(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.equal(root.querySelector("tfoot .number").textContent, "45.0000");
});

test("vectors side by side show their first numbers, the rest on demand", async () => {
  const values = Array.from({ length: 9 }, (_, index) => index);
  const root = await shown(h(NumberTable, { columns: [{ title: "x", values }], caption: "x" }));
  assert.equal(root.querySelectorAll("tbody .number").length, 6);
  root.querySelector("button").click();
  await settle();
  assert.equal(root.querySelectorAll("tbody .number").length, 9);
});

test("numbers have four digits, or a power of ten", () => {
  assert.deepEqual([0, 1.23456, -0.5, 1e-6, 12345678, -Infinity].map(numberText), [
    "0.0000",
    "1.2346",
    "−0.5000",
    "1.00e−6",
    "1.23e+7",
    "−∞",
  ]);
  assert.deepEqual([smallText(0), smallText(-2.5e-9), subscript(12)], ["0", "−2.5e−9", "₁₂"]);
});
