/** The next token at each step of a generation: the most probable ones as bars, at a temperature. */

import { useDebounced } from "../core/debounce.js";
import { t } from "../core/i18n.js";
import { useQuery } from "../core/query.js";
import { h, useEffect, useState } from "../core/ui.js";
import { indexParam, numberParam } from "../core/url.js";
import { readableToken } from "../math/tokens.js";
import { Slider } from "./controls.js";
import { Card } from "./layout.js";
import { Loading, Problem } from "./placeholders.js";
import { TokenRow } from "./token_row.js";
import { WeightBars } from "./weight_bars.js";

/** @import { Store } from "../core/store.js" */
/** @import { AnyTrace, PredictedToken } from "../data/backend.js" */

const FRAME = 900; // ms of a step while it plays
const [COLDEST, HOTTEST] = [0.1, 2]; // temperature

/**
 * @param {object} props
 * @param {Store} props.store
 * @param {<T>(use: (trace: AnyTrace) => Promise<T>, signal: AbortSignal) => Promise<T>} props.withTrace
 * @param {string} props.input another one for another trace
 */
export function NextTokens({ store, withTrace, input }) {
  const isOpen = store.url.value.next === "1";
  const toggle = {
    type: "button",
    "aria-expanded": String(isOpen),
    onClick: () => store.set({ next: isOpen ? "" : "1" }),
  };
  return h(
    Card,
    { title: t("next.title"), beside: h("button", toggle, t(isOpen ? "what_if.close" : "next.open")) },
    h("p", { class: "faint small" }, t("next.text")),
    isOpen && h(Steps, { key: input, store, withTrace, input }),
  );
}

/** @param {Parameters<typeof NextTokens>[0]} props */
function Steps({ store, withTrace, input }) {
  const settled = useDebounced(temperatureOf(store));
  const query = useQuery(
    (signal) =>
      withTrace(
        async (trace) => ({ trace, predicted: await store.data.predictions(trace.id, { signal }, settled) }),
        signal,
      ),
    [input, settled],
    { keepsData: true },
  );
  if (query.error) return h(Problem, { error: query.error });
  if (!query.data) return h(Loading, null);
  const { trace, predicted } = query.data;
  const tokens = trace[predicted.side === "target" ? "target" : "source"].pieces.slice(0, predicted.positions.length);
  const position = indexParam(store.url.value.predict, tokens.length) ?? 0;
  const choose = (/** @type {number} */ index) => store.set({ predict: String(index) });
  return h(
    "div",
    { class: "stack" },
    h(
      "div",
      { class: "controls" },
      h(Play, { position, last: tokens.length - 1, onStep: choose }),
      h(TemperatureSlider, { store }),
    ),
    h(TokenRow, { label: t("next.after"), tokens, chosen: position, onChoose: choose }),
    h(WeightBars, { weights: predicted.positions[position].map(asWeight) }),
  );
}

/** @param {Store} store */
export function temperatureOf(store) {
  return numberParam(store.url.value.temperature, { min: COLDEST, max: HOTTEST, usual: 1 });
}

/** @param {{ store: Store }} props */
export function TemperatureSlider({ store }) {
  return h(Slider, {
    label: t("language.temperature"),
    min: COLDEST,
    max: HOTTEST,
    step: 0.1,
    value: temperatureOf(store),
    format: (value) => value.toFixed(1),
    onChange: (value) => store.set({ temperature: value === 1 ? "" : value.toFixed(1) }),
  });
}

/** @param {PredictedToken} token */
function asWeight({ piece, probability, is_chosen }) {
  return { word: `${readableToken(piece)}${is_chosen ? " ◀" : ""}`, weight: probability };
}

/** @param {{ position: number, last: number, onStep: (position: number) => void }} props */
function Play({ position, last, onStep }) {
  const [isPlaying, setPlaying] = useState(false);
  useEffect(() => {
    if (!isPlaying) return;
    if (position >= last) return void setPlaying(false);
    const timer = setTimeout(() => onStep(position + 1), FRAME);
    return () => clearTimeout(timer);
  }, [isPlaying, position, last]);
  const toggle = () => {
    if (!isPlaying && position >= last) onStep(0);
    setPlaying(!isPlaying);
  };
  return h("button", { type: "button", onClick: toggle }, t(isPlaying ? "timeline.pause" : "timeline.play"));
}
