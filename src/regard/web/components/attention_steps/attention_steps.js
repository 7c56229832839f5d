// @ts-check
/** The steps of attention as cards, from the token to the end of the block, each with its formula and the numbers of one query. */

import { Fragment, h, useMemo } from "../../core/ui.js";
import { attend } from "../../math/attention.js";
import { cardsAfter, cardsBefore } from "./block.js";
import { ContextCard, OutputCard } from "./context.js";
import { ProjectionCard } from "./projections.js";
import { ScalingCard, ScoreCard, SoftmaxCard, VisibilityCard } from "./scores.js";
import { isScaled, stepChoice } from "./step_params.js";

/** @import { UrlState } from "../../core/url.js" */
/** @import { Detail } from "./step_card.js" */

const MOST_ROWS = 24;

/**
 * @param {object} props
 * @param {Detail} props.detail
 * @param {UrlState} props.params the address
 * @param {(changes: UrlState) => void} props.onChange
 * @param {(layer: number) => void} [props.onVisit] show another attention of the trace
 */
export function AttentionSteps({ detail, params, onChange, onVisit }) {
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
  return h(
    Fragment,
    null,
    cards.map(({ id, Card, ...props }, index) => h(Card, { key: id, step, number: index + 1, ...props })),
  );
}

/**
 * The cards of a query in their order.
 * @param {Detail} detail
 * @returns {import("./block.js").StepEntry[]}
 */
function stepCards(detail) {
  const scaling = isScaled(detail) ? [{ id: "scaling", Card: ScalingCard, isHalf: true }] : [];
  const hasOutput = Boolean(detail.output_weight);
  return [
    ...cardsBefore(detail),
    { id: "projections", Card: ProjectionCard },
    { id: "scores", Card: ScoreCard },
    ...scaling,
    { id: "visibility", Card: VisibilityCard, isHalf: scaling.length > 0 },
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
