// @ts-check
/** The logit lens: what the output layer would make of each block's output at the chosen position. */

import { Card } from "../../components/layout.js";
import { TableScroll } from "../../components/number_table.js";
import { Loading, Problem } from "../../components/placeholders.js";
import { t } from "../../core/i18n.js";
import { useQuery } from "../../core/query.js";
import { h } from "../../core/ui.js";
import { readableToken } from "../../math/tokens.js";

/** @import { Store } from "../../core/store.js" */
/** @import { LogitLensResponse } from "../../data/backend.js" */

const MOST_TOKENS = 4;

/**
 * @param {object} props
 * @param {Store} props.store
 * @param {(use: (trace: { id: string }) => Promise<LogitLensResponse>, signal: AbortSignal) => Promise<LogitLensResponse>} props.withTrace
 * @param {unknown} props.trace another one for another input
 * @param {number} props.position
 */
export function LogitLens({ store, withTrace, trace, position }) {
  const isOpen = store.url.value.lens === "1";
  const query = useQuery(
    isOpen && ((signal) => withTrace(({ id }) => store.data.logitLens(id, position, { signal }), signal)),
    [trace, position, isOpen],
    { keepsData: true },
  );
  const toggle = {
    type: "button",
    "aria-expanded": String(isOpen),
    onClick: () => store.set({ lens: isOpen ? "" : "1" }),
  };
  return h(
    Card,
    { title: t("lens.title"), beside: h("button", toggle, t(isOpen ? "what_if.close" : "next.open")) },
    h("p", { class: "faint small" }, t("lens.text")),
    isOpen && query.error && h(Problem, { error: query.error }),
    isOpen && (query.data ? h(LensTable, { layers: query.data.layers }) : query.isLoading && h(Loading, null)),
  );
}

/** @param {{ layers: LogitLensResponse["layers"] }} props the first block first */
function LensTable({ layers }) {
  const cell = (/** @type {LogitLensResponse["layers"][number]["tokens"][number]} */ token) =>
    h(
      "td",
      { class: token.is_chosen ? "is-output" : null },
      readableToken(token.piece),
      ` ${token.probability.toFixed(2)}`,
    );
  const rows = layers.map(({ tokens }, index) =>
    h(
      "tr",
      { key: index },
      h("th", { scope: "row" }, t("lens.block", { number: index + 1 })),
      tokens.slice(0, MOST_TOKENS).map(cell),
    ),
  );
  return h(
    TableScroll,
    { label: t("lens.title") },
    h(
      "table",
      { class: "numbers lens" },
      h("caption", { class: "only-heard" }, t("lens.title")),
      h("tbody", null, rows),
    ),
  );
}
