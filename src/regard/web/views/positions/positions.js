/** Positions: how a model gets the position of a token, as a map, as curves, as distances; and four criteria, measured live. */

import { readableNumber } from "../../charts/scales.js";
import { Select, Slider } from "../../components/controls.js";
import { Card, Lead } from "../../components/layout.js";
import { Problem } from "../../components/placeholders.js";
import { t } from "../../core/i18n.js";
import { h } from "../../core/ui.js";
import { sinusoidalEncoding } from "../../math/positions.js";
import { EncodingCharts } from "./encoding_charts.js";
import { RotaryDemo } from "./rotary_demo.js";
import { FORMULAS, OWN, SHORTEST, useEncoding } from "./use_encoding.js";

/** @import { Store } from "../../core/store.js" */
/** @import { PositionTable } from "../../data/backend.js" */
/** @import { Encoding } from "../../math/positions.js" */
/** @import { Shape } from "./encoding_charts.js" */
/** @import { EncodingState, FormulaKind } from "./use_encoding.js" */

const FORMULA_NAMES = /** @type {const} */ ({
  sinusoidal: "positions.sinusoidal",
  count: "positions.count",
  fraction: "positions.fraction",
  random: "positions.random",
});
const FORMULA_TEXTS = /** @type {const} */ ({
  sinusoidal: "positions.story_sinusoidal",
  count: "positions.story_count",
  fraction: "positions.story_fraction",
  random: "positions.story_random",
});
/** Kinds of tables that models have: their names, the description of a table, and that of the kind. */
const KINDS = /** @type {const} */ ({
  sinusoidal: {
    name: "positions.kind_sinusoidal",
    story: "positions.story_sinusoidal",
    about: "positions.about_sinusoidal",
  },
  learned: { name: "positions.kind_learned", story: "positions.story_learned", about: "positions.about_learned" },
  rotary: { name: "positions.kind_rotary", story: "positions.story_rotary", about: "positions.about_rotary" },
  relative: { name: "positions.kind_relative", story: "positions.story_relative", about: "positions.about_relative" },
  none: { name: "positions.kind_none", story: "positions.story_none", about: "positions.about_none" },
});

export const positionsView = {
  id: "positions",
  title: "positions.title",
  View: Positions,
};

/** @param {{ store: Store }} props */
function Positions({ store }) {
  const state = useEncoding(store);
  const { make, encoding, table, error, length, trained } = state;
  return h(
    "div",
    { class: "view" },
    h(Lead, { title: t("positions.heading") }, t("positions.lead")),
    h(
      "div",
      { class: "card stack" },
      h(EncodingControls, { store, state }),
      h(
        "div",
        { class: "explain" },
        storyText(state),
        encoding && table?.kind === "sinusoidal" && ` ${agreement(table, encoding)}`,
      ),
      error && h(Problem, { error }),
      make && !encoding && h("p", { class: "problem" }, t("positions.too_long", { length })),
    ),
    make && encoding && h(EncodingCharts, { make, encoding, trained, shape: shapeOf(state) }),
    h(WaysCard, { store }),
  );
}

/** @param {{ store: Store, state: EncodingState }} props */
function EncodingControls({ store, state }) {
  const { kind, own, table, length, longest, width } = state;
  const kinds = /** @type {FormulaKind[]} */ (Object.keys(FORMULAS)).map(
    (formula) => /** @type {[string, string]} */ ([formula, t(FORMULA_NAMES[formula])]),
  );
  const model = store.model.value?.name ?? "";
  if (own) kinds.splice(1, 0, [OWN, t("positions.own", { model, kind: t(kindOf(own).name) })]);
  const isFixed = table !== null;
  const set = (/** @type {"length" | "width"} */ name) => (/** @type {number} */ value) =>
    store.set({ [name]: String(value) });
  return h(
    "div",
    { class: "controls" },
    h(Select, {
      label: t("positions.kind"),
      options: kinds,
      value: kind,
      onChange: (next) => store.set({ kind: next }),
    }),
    h(Slider, { label: t("positions.length"), min: SHORTEST, max: longest, value: length, onChange: set("length") }),
    h(Slider, {
      label: t("positions.width"),
      min: 4,
      max: 256,
      step: 4,
      value: width,
      isDisabled: isFixed,
      onChange: set("width"),
    }),
  );
}

/** @param {{ store: Store }} props */
function WaysCard({ store }) {
  const kinds = /** @type {(keyof typeof KINDS)[]} */ (Object.keys(KINDS));
  const ways = kinds.map((kind) =>
    h(
      "div",
      { key: kind },
      h("h3", null, t(KINDS[kind].name)),
      h("p", { class: "faint" }, t(KINDS[kind].about)),
      kind === "rotary" && h(RotaryDemo, { store }),
    ),
  );
  return h(Card, { title: t("positions.ways") }, h("div", { class: "ways" }, ways));
}

/** @param {PositionTable} table */
function kindOf({ kind }) {
  return KINDS[/** @type {keyof typeof KINDS} */ (kind)] ?? KINDS.none;
}

/** @param {EncodingState} state */
function storyText({ kind, table }) {
  if (!table) return kind === OWN ? "" : t(FORMULA_TEXTS[kind]);
  const count = (/** @type {number | null | undefined} */ number) => number?.toLocaleString("en") ?? "";
  const isReached = table.kind === "learned" && (table.trained ?? 0) >= (table.max_positions ?? 0);
  const key = isReached ? "positions.story_learned_whole" : kindOf(table).story;
  return t(key, { width: table.width, longest: count(table.max_positions), trained: count(table.trained) });
}

/**
 * @param {EncodingState} state
 * @returns {Shape}
 */
function shapeOf({ kind, table }) {
  if (table) return table.kind === "learned" ? "learned" : table.layout === "halves" ? "halves" : "interleaved";
  return kind === OWN || kind === "sinusoidal" ? "interleaved" : kind;
}

/**
 * How far the model's numbers are from the formula as computed here, in float64.
 * @param {PositionTable} table
 * @param {Encoding} encoding
 */
function agreement(table, { length, width, values }) {
  const formula = sinusoidalEncoding(length, width).values;
  const sines = Math.ceil(width / 2);
  const inHalves = (/** @type {number} */ index) => {
    const column = index % width; // all sines come first
    return formula[index - column + (column < sines ? 2 * column : 2 * (column - sines) + 1)];
  };
  const expected = (/** @type {number} */ index) => (table.layout === "halves" ? inHalves(index) : formula[index]);
  const difference = values.reduce((most, value, index) => Math.max(most, Math.abs(value - expected(index))), 0);
  return t("positions.agrees", { difference: readableNumber(difference) });
}
