import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { inflateSync } from "node:zlib";
import { imageMaps } from "../../src/regard/web/charts/image_maps.js";
import { blackMask } from "../../src/regard/web/charts/png.js";
import { hitsBox, partialWord, smoothMap, wordMaps } from "../../src/regard/web/math/image_attention.js";

const GRID = { rows: 2, columns: 2 };
const CAPTION = { word_pieces: [[0], [1], [2, 3]], words: ["<s>", "a", "dog"] };
const WEIGHTS = [0.7, 0.1, 0.1, 0.1, 0.2, 0.6, 0.1, 0.1, 0, 0, 0, 1];

test("a word has the mean of the rows that predict its tokens", () => {
  const [first, second] = wordMaps(CAPTION, GRID, WEIGHTS);
  assert.equal(first.text, "a");
  assert.deepEqual(first.peak, { weight: first.map[0], row: 0, column: 0 });
  assert.deepEqual(
    [...second.map].map((weight) => Number(weight.toFixed(3))),
    [0.1, 0.3, 0.05, 0.55],
  );
  assert.deepEqual([second.peak.row, second.peak.column], [1, 1]);
  assert.deepEqual(partialWord({ text: "dog", weights: [...second.map] }, GRID).peak, second.peak);
});

test("a peak hits a box by its centre or by the box's centre", () => {
  assert.ok(hitsBox({ row: 0, column: 0 }, GRID, [[0, 0, 0.5, 0.5]]));
  assert.ok(hitsBox({ row: 1, column: 1 }, GRID, [[0.9, 0.9, 1, 1]]));
  assert.ok(!hitsBox({ row: 0, column: 1 }, GRID, [[0, 0, 0.4, 0.4]]));
  assert.ok(!hitsBox({ row: 0, column: 1 }, GRID, []));
});

test("a smooth map keeps the centres and stays within the range", () => {
  const { values, width, height } = smoothMap([0, 1, 1, 0], GRID, 3);
  assert.deepEqual([width, height], [6, 6]);
  for (const [y, x, weight] of [
    [1, 1, 0],
    [1, 4, 1],
    [4, 1, 1],
    [4, 4, 0],
  ])
    assert.ok(Math.abs(values[y * 6 + x] - weight) < 1e-6);
  assert.ok(values.every((value) => value >= 0 && value <= 1));
});

test("a mask is a valid PNG with the given opacity", () => {
  const bytes = Buffer.from(blackMask([0, 0.5, 1, 0.25, 0, 1], { width: 3, height: 2 }).split(",")[1], "base64");
  assert.equal(bytes.readUInt32BE(16), 3);
  assert.equal(bytes.readUInt32BE(20), 2);
  const start = bytes.indexOf("IDAT") + 4;
  const rows = inflateSync(bytes.subarray(start, start + bytes.readUInt32BE(start - 8))); // checks Adler-32 too
  assert.deepEqual([...rows], [0, 0, 0, 0, 128, 0, 255, 0, 0, 64, 0, 0, 0, 255]);
});

test("arrow keys go from word to word of a sheet", () => {
  const words = wordMaps(CAPTION, GRID, WEIGHTS);
  const chart = imageMaps({ grid: { ...GRID, image: null }, words, title: "a dog" });
  assert.equal(chart.step(null, "ArrowRight"), 0);
  assert.equal(chart.step(0, "ArrowRight"), 1);
  assert.equal(chart.step(1, "ArrowRight"), 1);
  assert.equal(chart.step(1, "a"), undefined);
  assert.equal(chart.hit(chart.width - 20, 50), 1);
  assert.equal(chart.hit(12, 50), null);
});

test("the page counts hits as the metric does", () => {
  const cases = JSON.parse(readFileSync(new URL("references/pointing.json", import.meta.url), "utf8"));
  for (const { row, column, rows, columns, box, is_hit } of cases) {
    assert.equal(hitsBox({ row, column }, { rows, columns }, [box]), is_hit);
  }
  const hits = cases.filter(({ is_hit }) => is_hit).length;
  assert.ok(hits > 10 && hits < 290);
});
