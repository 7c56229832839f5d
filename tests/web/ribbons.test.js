import assert from "node:assert/strict";
import test from "node:test";
import { series } from "../../src/regard/web/charts/colour.js";
import { ribbons, ribbonsOf } from "../../src/regard/web/charts/ribbons.js";

const HEIGHT = 30; // of a word
const LINE = 36; // from one line of words to the next
const GAP = 60; // between source and target

/** Words of 40 pixels, `perLine` on a line; the target below the source. */
function layoutOf(source, target, perLine) {
  const lines = Math.ceil(source.length / perLine);
  const box = (index, top) => ({
    left: (index % perLine) * 50,
    top: top + Math.floor(index / perLine) * LINE,
    width: 40,
    height: HEIGHT,
  });
  const targetTop = lines * LINE + GAP;
  const height = targetTop + Math.ceil(target.length / perLine) * LINE;
  return {
    width: perLine * 50,
    height,
    fontSize: 20,
    source: source.map((_, index) => box(index, 0)),
    target: target.map((_, index) => box(index, targetTop)),
  };
}

const SOURCE = ["a", "b", "c", "d", "e", "f"];
const TARGET = ["가", "나", "다", "라", "마"];
const WEIGHTS = TARGET.map((_, row) => SOURCE.map((__, column) => (row === column ? 0.6 : 0.08)));
const LINKS = TARGET.map((_, index) => [index, index]);
const data = (active) => ({
  title: "t",
  source: SOURCE,
  target: TARGET,
  weights: WEIGHTS,
  links: LINKS,
  gold: [[1, 1]],
  active,
});
const PLACES = [
  ...SOURCE.map((_, index) => ({ side: "source", index })),
  ...TARGET.map((_, index) => ({ side: "target", index })),
];

/** All elements of a drawing. */
function elements(content) {
  if (Array.isArray(content)) return content.flatMap(elements);
  return content && typeof content === "object" ? [content] : [];
}

test("without an active word all links are drawn on one line", () => {
  const drawn = ribbonsOf(data(null), layoutOf(SOURCE, TARGET, 6));
  assert.deepEqual(
    drawn.map(({ from, to }) => [from, to]),
    LINKS,
  );
  assert.ok(drawn.every(({ isFaint }) => isFaint));
});

test("without an active word wrapped links are left out", () => {
  assert.deepEqual(ribbonsOf(data(null), layoutOf(SOURCE, TARGET, 3)), []);
});

test("a middle line counts as wrapped even if the ends do not", () => {
  const layout = layoutOf(SOURCE, TARGET, 6);
  layout.source[2] = { ...layout.source[2], top: layout.source[2].top - LINE };
  assert.deepEqual(ribbonsOf(data(null), layout), []);
});

test("an active word has a ribbon for each weight", () => {
  const drawn = ribbonsOf(data({ side: "target", index: 1 }), layoutOf(SOURCE, TARGET, 6));
  assert.deepEqual(
    drawn.map(({ from, to, weight }) => [from, to, weight]),
    SOURCE.map((_, from) => [from, 1, WEIGHTS[1][from]]),
  );
  assert.ok(drawn.every(({ tie, isFaint }) => tie === 0 && !isFaint));
});

for (const perLine of [1, 2, 3, 4, 6]) {
  test(`ribbons end between the sides, ${perLine} words on a line`, () => {
    const layout = layoutOf(SOURCE, TARGET, perLine);
    const bottom = Math.max(...layout.source.map(({ top }) => top + HEIGHT));
    const top = Math.min(...layout.target.map((box) => box.top));
    for (const active of PLACES) {
      for (const { props } of elements(ribbons(data(active), layout).ribbons(false)).filter(
        ({ type }) => type === "path",
      )) {
        const numbers = props.d.match(/[\d.]+/g).map(Number);
        const [first, last] = [numbers[1], numbers.at(-1)];
        assert.ok(first >= bottom && last <= top && first < last);
      }
    }
  });

  test(`a tied word has its dot's colour, ${perLine} words on a line`, () => {
    const layout = layoutOf(SOURCE, TARGET, perLine);
    for (const active of PLACES) {
      const chart = ribbons(data(active), layout);
      const dots = elements(chart.ribbons(false)).filter(({ type }) => type === "circle");
      const ties = PLACES.map((word) => chart.wordStyle(word).tie).filter(Boolean);
      const apart = ribbonsOf(data(active), layout).filter(({ tie }) => tie > 0);
      assert.equal(new Set(ties).size, ties.length, "each tie has a colour of its own");
      assert.equal(ties.length, apart.length);
      assert.ok(dots.length >= ties.length);
    }
  });
}

test("dots of words at the same x are moved apart", () => {
  for (const perLine of [1, 2, 3]) {
    const layout = layoutOf(SOURCE, TARGET, perLine);
    for (const active of PLACES) {
      const drawn = elements(ribbons(data(active), layout).ribbons(false));
      const tied = drawn.filter(({ type, props }) => type === "circle" && props.fill !== series(0, false).colour);
      const places = tied.map(({ props }) => props.cx).sort((first, second) => first - second);
      assert.ok(places.every((x, index) => x <= layout.width && (index === 0 || x - places[index - 1] >= 10)));
    }
  }
});

test("words away from the other side are tied, the others touched", () => {
  const chart = ribbons(data({ side: "target", index: 0 }), layoutOf(SOURCE, TARGET, 3));
  const ties = SOURCE.map((_, index) => chart.wordStyle({ side: "source", index }).tie > 0);
  assert.deepEqual(ties, [true, true, true, false, false, false]);
});

test("words are lit by weight and marked by gold links", () => {
  const chart = ribbons(data({ side: "source", index: 1 }), layoutOf(SOURCE, TARGET, 6));
  assert.deepEqual(chart.wordStyle({ side: "target", index: 1 }), { light: 0.6, tie: 0, isGold: true });
  assert.deepEqual(chart.wordStyle({ side: "target", index: 2 }), { light: 0.08, tie: 0, isGold: false });
  assert.equal(chart.wordStyle({ side: "source", index: 0 }).light, null);
});

test("nothing is drawn before words are measured, or without attention", () => {
  const empty = { width: 0, height: 0, fontSize: 0, source: [], target: [] };
  assert.deepEqual(ribbonsOf(data({ side: "source", index: 0 }), empty), []);
  assert.deepEqual(
    ribbonsOf({ ...data({ side: "source", index: 0 }), weights: null }, layoutOf(SOURCE, TARGET, 6)),
    [],
  );
});

test("arrow keys go along a sentence and to the other one", () => {
  const chart = ribbons(data(null), layoutOf(SOURCE, TARGET, 6));
  assert.deepEqual(chart.step({ side: "source", index: 5 }, "ArrowRight"), { side: "source", index: 5 });
  assert.deepEqual(chart.step({ side: "source", index: 5 }, "ArrowDown"), { side: "target", index: 4 });
  assert.deepEqual(chart.step({ side: "target", index: 2 }, "ArrowUp"), { side: "source", index: 2 });
  assert.deepEqual(chart.step({ side: "target", index: 2 }, "Home"), { side: "target", index: 0 });
  assert.equal(chart.step({ side: "target", index: 2 }, "ArrowDown"), undefined);
  assert.equal(chart.step({ side: "target", index: 2 }, "toString"), undefined);
});

test("a word is hit within its box alone", () => {
  const chart = ribbons(data(null), layoutOf(SOURCE, TARGET, 3));
  assert.deepEqual(chart.hit(60, LINE + 5), { side: "source", index: 4 });
  assert.equal(chart.hit(45, 5), null);
});

test("the saved picture has every word", () => {
  const chart = ribbons(data({ side: "target", index: 0 }), layoutOf(SOURCE, TARGET, 3));
  const texts = elements(chart.draw(false))
    .filter(({ type }) => type === "text")
    .map(({ props }) => props.children);
  assert.deepEqual(texts, [...SOURCE, ...TARGET]);
});
