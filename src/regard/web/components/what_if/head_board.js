/** Every head of a model as a button that disables it; with the numbers of how much a word needs each head. */

import { inkOn, shade } from "../../charts/colour.js";
import { t } from "../../core/i18n.js";
import { isDark } from "../../core/theme.js";
import { h } from "../../core/ui.js";
import { headAction, toggleHead } from "../../math/intervention_syntax.js";
import { attentionName } from "../attention_names.js";
import { moveFocus } from "../controls.js";
import { TableScroll } from "../number_table.js";
import { addressText } from "./change_list.js";
import { ablationOf, changesOf, setChanges } from "./experiment.js";

/** @import { Store } from "../../core/store.js" */
/** @import { AttentionRole, HeadImportance, InterventionOptions } from "../../data/backend.js" */
/** @import { HeadAddress } from "../../math/intervention_syntax.js" */

/**
 * @param {object} props
 * @param {InterventionOptions["attentions"]} props.attentions
 * @param {string[]} props.list the interventions
 * @param {HeadImportance | null} props.importance
 * @param {(address: HeadAddress) => void} props.onToggle
 */
export function HeadBoard({ attentions, list, importance, onToggle }) {
  const roles = [...new Set(attentions.map(({ role }) => role))];
  const most = largestNeed(importance);
  const board = (/** @type {AttentionRole} */ role) => {
    const layers = attentions.filter((attention) => attention.role === role);
    const name = attentionName(role);
    const heads = Math.max(...layers.map((layer) => layer.heads));
    const row = (/** @type {{ layer: number, heads: number }} */ { layer, heads: count }) =>
      h(
        "tr",
        { key: layer },
        h("th", { scope: "row" }, t("heads.layer", { layer: layer + 1 })),
        Array.from({ length: count }, (_, head) =>
          h(
            "td",
            { key: head },
            h(HeadButton, {
              address: { role, layer, head },
              action: headAction(list, { role, layer, head }),
              change: changeOf(importance, { role, layer, head }),
              most,
              onToggle,
            }),
          ),
        ),
      );
    return h(
      TableScroll,
      { key: role, label: name },
      h(
        "table",
        { class: "head-board", onKeyDown: (/** @type {any} */ event) => moveFocus(event, "tbody tr") },
        h("caption", null, name),
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            h("td"),
            Array.from({ length: heads }, (_, head) => h("th", { key: head, scope: "col" }, head + 1)),
          ),
        ),
        h("tbody", null, layers.map(row)),
      ),
    );
  };
  return h("div", { class: "head-boards" }, roles.map(board));
}

/** @param {{ address: HeadAddress, action: string | null, change: number | null, most: number, onToggle: (address: HeadAddress) => void }} props */
function HeadButton({ address, action, change, most, onToggle }) {
  const dark = isDark.value;
  const need = change === null ? 0 : Math.max(0, -change) / most;
  const number = change === null ? null : signed(change);
  const name = addressText(address);
  const style = change === null || action ? {} : { "background-color": shade(need, dark), color: inkOn(need, dark) };
  return h(
    "button",
    {
      type: "button",
      class: "head-switch",
      "aria-pressed": String(Boolean(action)),
      title: name,
      style,
      onClick: () => onToggle(address),
    },
    h("span", { class: "only-heard" }, t("what_if.disable", { head: name }), " "),
    action ? (number === null ? "✕" : h("del", null, number)) : (number ?? "●"),
  );
}

/** @param {number} change */
function signed(change) {
  return `${change > 0 ? "+" : ""}${change.toFixed(2)}`.replace("-", "−");
}

/**
 * @param {HeadImportance | null} importance
 * @param {HeadAddress} address
 */
function changeOf(importance, { role, layer, head }) {
  const found = importance?.layers.find((known) => known.role === role && known.layer === layer);
  return found?.changes[head ?? 0] ?? null;
}

/**
 * The largest loss of log-probability, and at least a notable one, so that noise is not drawn dark.
 * @param {HeadImportance | null} importance
 */
function largestNeed(importance) {
  return Math.max(0.5, ...(importance?.layers ?? []).flatMap(({ changes }) => changes.map((change) => -change)));
}

/**
 * A button that disables one head, or enables it again.
 * @param {{ store: Store, address: HeadAddress }} props
 */
export function DisableHead({ store, address }) {
  const list = changesOf(store);
  const isOff = headAction(list, address) !== null;
  const flip = () => setChanges(store, toggleHead(list, address, ablationOf(store)));
  const button = { type: "button", class: "disable-head", "aria-pressed": String(isOff), onClick: flip };
  return h("button", button, t("what_if.this_head"));
}
