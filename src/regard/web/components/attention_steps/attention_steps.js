// @ts-check
/** The steps of attention as cards, from the token to the end of the block, each with its formula and the numbers of one query. */

import { h, useMemo, useRef } from "../../core/ui.js";
import { attend } from "../../math/attention.js";
import { cardsAfter, cardsBefore } from "./block_cards.js";
import { ContextCard, OutputCard } from "./context.js";
import { ProjectionCard } from "./projections.js";
import { StepMap } from "./step_map.js";
import { isScaled, stepChoice } from "./step_params.js";
import { PositionBiasCard, ScalingCard, ScoreCard, SoftmaxCard, VisibilityCard } from "./weights.js";

/** @import { UrlState } from "../../core/url.js" */
/** @import { Detail } from "./step_card.js" */

const MOST_ROWS = 24;

/**
 * @param {object} props
 * @param {Detail} props.detail
 * @param {UrlState} props.params the address
 * @param {(changes: UrlState) => void} props.onChange
 * @param {(layer: number) => void} [props.onVisit] show another attention of the trace
 * @param {boolean} [props.isBusy]
 */
export function AttentionSteps({ detail, params, onChange, onVisit, isBusy = false }) {
  const choice = stepChoice(params, detail);
  const { isUnscaled, isUnmasked } = choice;
  const work = useMemo(() => attend(detail), [detail]);
  const changed = useMemo(
    () => (isUnscaled || isUnmasked ? attend(detail, { isScaled: !isUnscaled, isMasked: !isUnmasked }) : null),
    [detail, isUnscaled, isUnmasked],
  );
  const cards = useMemo(() => stepCards(detail), [detail]);
  const keys = keysShown(work.weights, choice.key, choice.showsAllKeys);
  const step = { detail, work, changed, choice, keys, onChange, onVisit };
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const ids = cards.map(({ id }) => id);
  const alone = ids.find((id) => id === params.step) ?? "";
  const card = (
    /** @type {import("./block_cards.js").StepEntry} */ { id, Card, isHalf, ...props },
    /** @type {number} */ at,
  ) =>
    (!alone || id === alone) &&
    h(
      "div",
      { key: id, "data-step": id, class: isHalf && !alone ? "is-half" : null },
      h(Card, { step, number: at + 1, isHalf: isHalf && !alone, ...props }),
    );
  return h(
    "div",
    { class: "steps-frame" },
    h(StepMap, { ids, chosen: alone, cards: list, onChoose: (id) => onChange({ step: id }) }),
    h("div", { ref: list, class: "view steps", "aria-busy": isBusy }, cards.map(card)),
  );
}

/**
 * The cards of a query in their order.
 * @param {Detail} detail
 * @returns {import("./block_cards.js").StepEntry[]}
 */
function stepCards(detail) {
  const changes = isScaled(detail) ? [{ id: "scaling", Card: ScalingCard, isHalf: true }] : [];
  if (detail.position_bias) changes.push({ id: "position-bias", Card: PositionBiasCard, isHalf: true });
  const hasOutput = Boolean(detail.output_weight);
  return [
    ...cardsBefore(detail),
    { id: "projections", Card: ProjectionCard },
    { id: "scores", Card: ScoreCard },
    ...changes,
    { id: "visibility", Card: VisibilityCard, isHalf: changes.length === 1 },
    { id: "softmax", Card: SoftmaxCard },
    { id: "context", Card: ContextCard, isHalf: hasOutput },
    ...(hasOutput ? [{ id: "output", Card: OutputCard, isHalf: true }] : []),
    ...cardsAfter(detail),
  ];
}

/**
 * The keys that have a row: all of them, or those with the largest weights and the chosen one where there are too many.
 * @param {number[]} weights
 * @param {number} chosen
 * @param {boolean} showsAll
 */
export function keysShown(weights, chosen, showsAll) {
  const all = weights.map((_, key) => key);
  if (showsAll || all.length <= MOST_ROWS) return all;
  const largest = new Set([...all].sort((first, second) => weights[second] - weights[first]).slice(0, MOST_ROWS));
  return all.filter((key) => largest.has(key) || key === chosen);
}
