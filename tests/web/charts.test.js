import assert from "node:assert/strict";
import test from "node:test";
import { newRoot, settle } from "./dom.js";

const { matrixHeatmap } = await import("../../src/regard/web/charts/matrix_heatmap.js");
const { heatmap } = await import("../../src/regard/web/charts/heatmap.js");
const { lines } = await import("../../src/regard/web/charts/lines.js");
const { Plot } = await import("../../src/regard/web/charts/plot.js");
const { regionGrid } = await import("../../src/regard/web/charts/region_grid.js");
const { imageMaps } = await import("../../src/regard/web/charts/image_maps.js");
const { queryWeights } = await import("../../src/regard/web/charts/query_weights.js");
const { ribbons } = await import("../../src/regard/web/charts/ribbons.js");
const { beamTree, treeLayout } = await import("../../src/regard/web/charts/beam_tree.js");
const { tokenLinks } = await import("../../src/regard/web/charts/token_links.js");
const { inkOn, shadeBytes } = await import("../../src/regard/web/charts/colour.js");
const { textWidth } = await import("../../src/regard/web/charts/text_width.js");
const { chartSvg } = await import("../../src/regard/web/charts/save.js");
const { WeightBars } = await import("../../src/regard/web/components/weight_bars.js");
const { theme } = await import("../../src/regard/web/core/theme.js");
const { part, valuesOf } = await import("../../src/regard/web/data/arrays.js");
const { h, render } = await import("../../src/regard/web/core/ui.js");

const map = (weights = [0.9, 0.1, 0.2, 0.8]) =>
  heatmap(
    { weights, rows: ["나는", "간다"], columns: ["I", "go"], title: "a map", hidden: (row, column) => column > row },
    { width: 400 },
  );
const curve = () =>
  lines(
    {
      title: "Loss",
      xLabel: "step",
      yLabel: "loss",
      series: [
        {
          name: "train",
          points: [
            [0, 3],
            [10, 1],
            [20, 0.5],
          ],
        },
      ],
    },
    { width: 300 },
  );
const numbers = () =>
  matrixHeatmap(
    {
      values: [1, 2, 3, 4, 5, 6],
      rows: 2,
      columns: 3,
      title: "f",
      xLabel: "x",
      yLabel: "y",
      most: 6,
      twoSided: false,
      describe: (row, column, value) => `${row},${column}: ${value}`,
    },
    { width: 300 },
  );

/** A drawing as an element. */
function drawn(chart, dark = false) {
  const root = newRoot();
  render(h("svg", null, chart.draw(dark)), root);
  return root;
}

/** Put a chart on the page; `show` draws another in its place. */
async function shown(chart, props = {}) {
  const root = newRoot();
  const show = async (next, more = props) => {
    render(h(Plot, { chart: next, ...more }), root);
    await settle();
  };
  await show(chart);
  const press = async (key) => {
    root
      .querySelector("[tabindex]")
      .dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    await settle();
  };
  const readout = () => root.querySelector(".map-readout, .read-out");
  return { root, show, press, readout };
}

test("a heatmap has a rectangle per weight and a stroke per hidden cell", () => {
  const root = drawn(map());
  assert.equal(root.querySelectorAll("rect").length, 4 + 1);
  assert.equal(root.querySelectorAll("path").length, 1);
  assert.match(root.textContent, /나는.*간다/);
});

test("dotted links stand out on every shade", async () => {
  const weights = Array.from({ length: 21 }, (_, step) => step / 20);
  const names = weights.map(String);
  const links = names.map((_, column) => [column, 0]);
  for (const dark of [false, true]) {
    const chart = heatmap({ weights, rows: ["a"], columns: names, title: "", links }, { width: 900 });
    const root = newRoot();
    render(h("svg", null, chart.draw(dark)), root);
    const marks = [...root.querySelectorAll("[stroke-dasharray]")].map((mark) => mark.getAttribute("stroke"));
    assert.deepEqual(
      marks,
      weights.map((weight) => inkOn(weight, dark)),
    );
    for (const [index, ink] of marks.entries()) {
      const [cell, mark] = [shadeBytes(weights[index], dark), ink === "#000000" ? [0, 0, 0] : [255, 255, 255]];
      assert.ok(contrast(cell, mark) >= 4.5, `${weights[index]} ${dark}`);
    }
  }
});

/** WCAG's contrast of two colours. */
function contrast(...colours) {
  const [low, high] = colours
    .map((bytes) => bytes.map((byte) => (byte <= 10 ? byte / 3294.6 : ((byte / 255 + 0.055) / 1.055) ** 2.4)))
    .map(([red, green, blue]) => 0.2126 * red + 0.7152 * green + 0.0722 * blue)
    .sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

test("a label of wide letters has room", () => {
  const widthInDejaVu = 0.838 + 0.974 + 0.613 + 0.521 + 0.579 + 0.838; // of <mask>, in em
  assert.ok(textWidth("<mask>", 13) >= 13 * widthInDejaVu);
});

test("a heatmap has a scale of colours", async () => {
  const root = newRoot();
  render(h(Plot, { chart: map() }), root);
  await settle();
  assert.equal(root.querySelector(".field-legend").textContent, "01");
});

test("every chart names its cells, its steps and its table", () => {
  assert.deepEqual(map().step([1, 1], "ArrowRight"), [1, 1]);
  assert.deepEqual(map().step([0, 0], "ArrowDown"), [1, 0]);
  assert.equal(map().step([0, 0], "a"), undefined);
  assert.deepEqual(map().table(), {
    header: ["", "I", "go"],
    rows: [
      ["나는", 0.9, 0.1],
      ["간다", 0.2, 0.8],
    ],
  });
  assert.equal(curve().step(0, "ArrowRight"), 10);
  assert.equal(curve().describe(10), "step 10: train 1");
  assert.deepEqual(curve().table(), {
    header: ["step", "train"],
    rows: [
      [0, 3],
      [10, 1],
      [20, 0.5],
    ],
  });
  assert.deepEqual(numbers().table().rows, [
    [0, 1, 2, 3],
    [1, 4, 5, 6],
  ]);
  assert.equal(numbers().describe([1, 2]), "1,2: 6");
});

test("the cell at a position is the one that is drawn there", () => {
  const chart = map();
  const rects = [...drawn(chart).querySelectorAll("rect")].slice(0, 4);
  rects.forEach((rect, index) => {
    const middle = (side, size) => Number(rect.getAttribute(side)) + Number(rect.getAttribute(size)) / 2;
    assert.deepEqual(chart.hit(middle("x", "width"), middle("y", "height")), [Math.floor(index / 2), index % 2]);
  });
  assert.equal(chart.hit(-1, -1), null);
});

test("an empty line chart says that there is nothing yet", () => {
  const chart = lines(
    { title: "t", xLabel: "step", yLabel: "y", series: [{ name: "a", points: [] }], xHeld: [0, 60] },
    { width: 300 },
  );
  assert.match(drawn(chart).textContent, /none yet/);
  assert.equal(chart.step(null, "End"), undefined);
});

test("keys move the cursor and only they are spoken", async () => {
  const { root, press, readout } = await shown(map());
  assert.equal(readout().getAttribute("aria-live"), "off");
  await press("End");
  assert.match(readout().textContent, /나는 → go hidden/);
  assert.equal(readout().getAttribute("aria-live"), "polite");
  await press("ArrowDown");
  assert.match(readout().textContent, /간다 → go 0\.800/);
  assert.equal(root.querySelectorAll(".map-cursor rect").length, 1);
  const area = root.querySelector(".map-area");
  area.getBoundingClientRect = () => ({ left: 0, top: 0, width: map().width, height: map().height });
  area.dispatchEvent(new MouseEvent("pointermove", { bubbles: true, clientX: map().width - 60, clientY: 20 }));
  for (let y = 0; y < map().height; y += 5)
    area.dispatchEvent(new MouseEvent("pointermove", { bubbles: true, clientX: map().width - 60, clientY: y }));
  await settle();
  assert.equal(readout().getAttribute("aria-live"), "off");
});

test("the cursor stays while the numbers below it change", async () => {
  const { show, press, readout } = await shown(map());
  await press("Home");
  assert.match(readout().textContent, /0\.900/);
  await show(map([0.3, 0.7, 0.5, 0.5]));
  assert.match(readout().textContent, /0\.300/);
});

test("a cursor beyond a smaller chart is not drawn", async () => {
  const { root, show, press } = await shown(map());
  await press("End");
  await show(heatmap({ weights: [1], rows: ["a"], columns: ["b"], title: "one" }, { width: 300 }));
  assert.equal(root.querySelectorAll(".map-cursor *").length, 0);
});

test("a line chart rests at a step and opens the one under the cursor", async () => {
  const opened = [];
  const { root, press, readout } = await shown(curve(), { rest: 20, onSelect: (step) => opened.push(step) });
  assert.equal(root.querySelector("[role=group][tabindex]").getAttribute("class"), "lines-frame can-choose");
  assert.match(readout().textContent, /step 20: train 0\.5/);
  await press("ArrowLeft");
  await press("Enter");
  assert.deepEqual(opened, [10]);
});

test("the numbers of a chart can be read as a table", async () => {
  const { root } = await shown(map());
  assert.equal(root.querySelector("table"), null);
  root.querySelector("[aria-expanded]").click();
  await settle();
  const cells = [...root.querySelectorAll("td")].map(({ textContent }) => textContent);
  assert.deepEqual(cells, ["0.9", "0.1", "0.2", "0.8"]);
  assert.equal(root.querySelector("[aria-expanded]").getAttribute("aria-expanded"), "true");
});

globalThis.ImageData = class {
  constructor(width, height) {
    this.data = new Uint8ClampedArray(4 * width * height);
  }
};
const WORD = { text: "가", map: new Float32Array(4), peak: { weight: 1, row: 0, column: 0 } };
const CHARTS = {
  heatmap: map,
  lines: curve,
  matrixHeatmap: numbers,
  imageMaps: () => imageMaps({ grid: { rows: 2, columns: 2, image: "data:," }, words: [WORD], title: "an image" }),
  queryWeights: () =>
    queryWeights(
      { title: "one query", keys: ["나는"], weights: [1], changed: [0.5], names: ["a", "b"] },
      { width: 300 },
    ),
  tokenLinks: () =>
    tokenLinks({ weights: [1], rows: ["나는"], columns: ["I"], title: "links", active: null }, { width: 300 }),
  beamTree: () => beamTree({ nodes: NODES, title: "a tree" }),
  ribbons: () => {
    const word = { left: 0, top: 0, width: 40, height: 30 };
    const layout = { width: 60, height: 120, fontSize: 20, source: [word], target: [{ ...word, top: 90 }] };
    return ribbons({ title: "words", source: ["I"], target: ["나는"], weights: [[1]], links: [], gold: null }, layout);
  },
};
for (const [name, chartOf] of Object.entries(CHARTS)) {
  test(`${name} is saved on white and names a Korean font in every theme`, () => {
    const { getContext, toDataURL } = window.HTMLCanvasElement.prototype;
    Object.assign(window.HTMLCanvasElement.prototype, { getContext: () => null, toDataURL: () => "data:," });
    const saved = ["light", "dark"].map((chosen) => {
      theme.value = chosen;
      return chartSvg(chartOf());
    });
    Object.assign(window.HTMLCanvasElement.prototype, { getContext, toDataURL });
    theme.value = "auto";
    assert.equal(saved[0].outerHTML, saved[1].outerHTML);
    const texts = [...saved[0].querySelectorAll("text")];
    assert.ok(texts.length > 0);
    for (const text of texts) assert.match(text.closest("[font-family]")?.getAttribute("font-family"), /Noto Sans KR/);
    assert.equal(saved[0].querySelector("rect").getAttribute("fill"), "#ffffff");
  });
}

test("bars take the colour of the theme", async () => {
  const root = newRoot();
  render(h(WeightBars, { weights: [{ word: "a", weight: 0.9 }] }), root);
  const colours = [];
  for (const name of ["light", "dark"]) {
    theme.value = name;
    await settle();
    colours.push(root.querySelector(".bar").style.backgroundColor);
  }
  theme.value = "auto";
  assert.notEqual(colours[0], colours[1]);
});

test("a packed array is decoded once, whichever parts are read", () => {
  const packed = { shape: [2, 2], data: Buffer.from(Float32Array.of(1, 2, 3, 4).buffer).toString("base64") };
  const { atob } = globalThis;
  let decoded = 0;
  globalThis.atob = (data) => {
    decoded += 1;
    return atob(data);
  };
  assert.deepEqual([part(packed, 0), part(packed, 1), part(packed)], [[1, 2], [3, 4], [[1, 2], [3, 4]]]); // biome-ignore format: a matrix
  assert.equal(valuesOf(packed), valuesOf(packed));
  globalThis.atob = atob;
  assert.equal(decoded, 1);
});

test("a dragged cell reports its change, and no click", async () => {
  const reports = [];
  const clicks = [];
  const { root } = await shown(map(), {
    onDrag: (cell, change, isEnd) => reports.push([...cell, change, isEnd]),
    onSelect: (cell) => clicks.push(cell),
  });
  const area = root.querySelector(".map-area");
  const { width } = map();
  area.getBoundingClientRect = () => ({ left: 0, top: 0, width, height: width });
  area.setPointerCapture = () => {};
  const send = (type, y) =>
    area.dispatchEvent(
      Object.assign(new MouseEvent(type, { bubbles: true, button: 0, clientX: width - 60, clientY: y }), {
        pointerId: 1,
      }),
    );
  const start = map().height - 20;
  for (const [type, y] of [
    ["pointerdown", start],
    ["pointermove", start - 2],
    ["pointermove", start - 30],
    ["pointerup", start - 50],
    ["click", start - 50],
  ])
    send(type, y);
  assert.deepEqual(
    reports.map(([row, , change, isEnd]) => [row, change, isEnd]),
    [
      [1, 0.3, false],
      [1, 0.5, true],
    ],
  );
  assert.deepEqual(clicks, []);
  send("pointerdown", start);
  send("pointerup", start);
  send("click", start);
  assert.equal(clicks.length, 1);
});

test("hidden regions of an image are crossed out and described", () => {
  const chart = regionGrid({
    rows: 2,
    columns: 2,
    image: "data:,",
    hidden: [3],
    title: "regions",
    describe: (number) => `region ${number}`,
  });
  assert.equal(drawn(chart).querySelectorAll("path").length, 1);
  assert.deepEqual(chart.describe([1, 1]), ["region 4", " ✕"]);
  assert.deepEqual(chart.step([0, 0], "ArrowDown"), [1, 0]);
  assert.deepEqual(chart.hit(200, 10), [0, 1]);
});

test("lines are drawn for weights that count, or for one token", () => {
  const data = { weights: [0.9, 0.1, 0.02, 0.98], rows: ["a", "b"], columns: ["c", "d"], title: "lines", active: null };
  const paths = (active) => {
    const root = newRoot();
    const chart = tokenLinks({ ...data, active }, { width: 300 });
    render(h("svg", null, chart.draw(false)), root);
    return root.querySelectorAll("path").length;
  };
  assert.equal(paths(null), 3);
  assert.equal(paths(["query", 0]), 2);
  assert.equal(paths(["key", 1]), 2);
  const chart = tokenLinks(data, { width: 300 });
  assert.equal(chart.describe(["query", 0]), "a → c 0.90, d 0.10");
  assert.equal(chart.describe(["key", 1]), "d ← b 0.98, a 0.10");
  assert.deepEqual(chart.step(["query", 0], "ArrowRight"), ["key", 0]);
  assert.deepEqual(chart.step(["key", 0], "ArrowDown"), ["key", 1]);
  assert.deepEqual(chart.hit(2, 30), ["query", 1]);
  assert.equal(chart.hit(2, 300), null);
});

const node = (piece, parent, log_probability, more = {}) => ({
  ...{ piece, parent, log_probability, state: "continued", score: null, is_best: false },
  ...more,
});
const NODES = [
  node("▁a", null, -2, { state: "pruned" }),
  node("▁b", null, -1, { is_best: true }),
  node("▁c", 1, -3, { state: "pruned" }),
  node("</s>", 1, -1.5, { state: "finished", score: -0.75, is_best: true }),
];

test("the best path of a beam tree is its first row", () => {
  const { depths, rows, rowCount } = treeLayout(NODES);
  assert.deepEqual(depths, [0, 0, 1, 1]);
  assert.deepEqual(rows, [2, 0, 1, 0]);
  assert.equal(rowCount, 3);
});

test("keys walk a beam tree and read its prefixes", () => {
  const chart = beamTree({ nodes: NODES, title: "tree" });
  assert.equal(chart.step(null, "Home"), 1);
  assert.equal(chart.step(1, "ArrowRight"), 3);
  assert.equal(chart.step(3, "ArrowDown"), 2);
  assert.equal(chart.step(2, "ArrowLeft"), 1);
  assert.equal(chart.step(1, "ArrowUp"), 1);
  const root = newRoot();
  render(h("p", null, chart.describe(2)), root);
  assert.match(root.textContent, /^b c log-probability -3.000, dropped from the beam/);
});
