// @ts-check
/** The worked example: its words, what can be changed about them, and its steps. */

import { AttentionSteps } from "../../components/attention_steps/attention_steps.js";
import { MEANINGS } from "../../components/attention_steps/projections.js";
import { CheckBox, Switches } from "../../components/attention_steps/switches.js";
import { Card } from "../../components/layout.js";
import { MatrixTable } from "../../components/number_table.js";
import { smallText } from "../../components/number_text.js";
import { TokenRow } from "../../components/token_row.js";
import { t } from "../../core/i18n.js";
import { useLostFocus } from "../../core/query.js";
import { h, useMemo } from "../../core/ui.js";
import { indexParam } from "../../core/url.js";
import {
  EXAMPLE,
  exampleDetail,
  exampleResults,
  IN_ORDER,
  orderDifference,
  shuffled,
} from "../../math/worked_example.js";

/** @import { UrlState } from "../../core/url.js" */
/** @import { Store } from "../../core/store.js" */

const SAME = 1e-9; // a smaller difference is rounding

/** @param {{ store: Store }} props */
export function WorkedExample({ store }) {
  const params = store.url.value;
  const order = orderParam(params.order);
  const isShuffled = order !== IN_ORDER;
  const isCausal = params.causal === "1";
  const query = indexParam(params.query, order.length) ?? 0;
  const detail = useMemo(() => exampleDetail(query, isCausal, order), [query, isCausal, order.join()]);
  const { set } = store;
  return [
    h(
      "div",
      { class: "stack" },
      h(
        Card,
        { title: t("inside.example_title") },
        h(
          "div",
          { class: "stack" },
          h("p", null, t("inside.example_text")),
          h(TokenRow, {
            label: t("inside.query"),
            tokens: detail.key_labels,
            chosen: query,
            onChoose: (/** @type {number} */ index) => set({ query: String(index) }),
          }),
          h(OrderButtons, { order, query, keyIndex: indexParam(params.key, order.length) ?? 0, onChange: set }),
          h(
            "div",
            { class: "switches" },
            h(CheckBox, {
              name: "causal",
              label: t("inside.causal"),
              isChecked: isCausal,
              onChange: (/** @type {UrlState} */ changes) => set({ ...changes, unmasked: "" }),
            }),
            h(Switches, { detail, params, onChange: set }),
          ),
        ),
      ),
      isShuffled && h(ShuffleCard, { order, isCausal }),
    ),
    h(AttentionSteps, { detail, params, onChange: set }),
  ];
}

/**
 * An order of the words as in the address; the sentence's own where it is no order of them.
 * @param {string | undefined} text
 */
export function orderParam(text) {
  const order = [...(text ?? "")].map(Number);
  const isOrder = order.length === IN_ORDER.length && IN_ORDER.every((word) => order.includes(word));
  return isOrder && order.join() !== IN_ORDER.join() ? order : IN_ORDER;
}

/**
 * Shuffle the words, and back; the word that is the query and the one that is the key stay chosen.
 * @param {{ order: number[], query: number, keyIndex: number, onChange: (changes: UrlState) => void }} props
 */
function OrderButtons({ order, query, keyIndex, onChange }) {
  const reorder = (/** @type {number[]} */ next) => {
    const movedTo = (/** @type {number} */ position) => String(next.indexOf(order[position]));
    const isInOrder = next.join() === IN_ORDER.join();
    onChange({ order: isInOrder ? "" : next.join(""), query: movedTo(query), key: movedTo(keyIndex) });
  };
  const ref = useLostFocus(order);
  return h(
    "div",
    { class: "controls" },
    h("button", { ref, type: "button", name: "shuffle", onClick: () => reorder(shuffled(order)) }, t("inside.shuffle")),
    h(
      "button",
      { type: "button", name: "unshuffle", disabled: order === IN_ORDER, onClick: () => reorder(IN_ORDER) },
      t("inside.unshuffle"),
    ),
  );
}

/**
 * Both orders side by side: without positions, self-attention gives each word the same.
 * @param {{ order: number[], isCausal: boolean }} props
 */
function ShuffleCard({ order, isCausal }) {
  const difference = orderDifference(order, isCausal);
  const text = t(difference < SAME ? "inside.shuffle_same" : "inside.shuffle_other", {
    difference: smallText(difference),
  });
  return h(
    Card,
    { title: t("inside.shuffle_title") },
    h(
      "div",
      { class: "stack shuffled" },
      h("p", { role: "status" }, text),
      h(OrderTables, { order: IN_ORDER, isCausal, title: t("inside.shuffle_before") }),
      h(OrderTables, { order, isCausal, title: t("inside.shuffle_now") }),
    ),
  );
}

/** @param {{ order: number[], isCausal: boolean, title: string }} props */
function OrderTables({ order, isCausal, title }) {
  const { weights, outputs } = exampleResults(order, isCausal);
  const words = order.map((word) => EXAMPLE.tokens[word]);
  const outputCaption = `${title}: ${t("inside.shuffle_output")}`;
  return h(
    "div",
    { class: "matrices" },
    h(MatrixTable, {
      rows: weights,
      caption: `${title}: ${t("inside.weight")}`,
      rowLabels: words,
      columnLabels: words,
      areResults: true,
    }),
    h(MatrixTable, {
      rows: outputs,
      caption: outputCaption,
      rowLabels: words,
      columnLabels: MEANINGS.map((key) => t(key)),
      areResults: true,
    }),
  );
}
