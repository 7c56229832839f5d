/** The interventions of an experiment as a list in words; each can be taken back. */

import { t } from "../../core/i18n.js";
import { h } from "../../core/ui.js";
import { parseIntervention } from "../../math/intervention_syntax.js";
import { tokenLabel } from "../../math/tokens.js";
import { attentionName, headName } from "../attention_names.js";

/** @import { AnyTrace, AttentionRole } from "../../data/backend.js" */
/** @import { HeadAddress } from "../../math/intervention_syntax.js" */
/** @typedef {Pick<AnyTrace, "source" | "target">} Sides */
/** @typedef {{ label: string, texts: string[] }} ListItem */

const ACTIONS = /** @type {const} */ ({
  zero: "what_if.head_zero",
  mean: "what_if.head_mean",
  uniform: "what_if.head_uniform",
});
export const PARTS = /** @type {const} */ ({
  scaling: "what_if.without_scaling",
  "causal-mask": "what_if.without_mask",
  positions: "what_if.without_positions",
  residual: "what_if.without_residual",
  "layer-norm": "what_if.without_norm",
});

/**
 * @param {object} props
 * @param {string[]} props.list
 * @param {Sides | null} props.trace names the words; null while it loads
 * @param {(texts: string[]) => void} [props.onRemove] not where the experiment is a recorded one
 */
export function ChangeList({ list, trace, onRemove }) {
  if (!list.length) return h("p", { class: "faint" }, t("what_if.no_change"));
  const items = listItems(list, trace).map(({ label, texts }) => {
    const remove = t("what_if.remove", { change: label });
    const button = { type: "button", class: "quiet", "aria-label": remove, title: remove };
    return h(
      "li",
      { key: texts.join(), title: texts.join(" ") },
      h("span", null, label),
      onRemove && h("button", { ...button, onClick: () => onRemove(texts) }, "✕"),
    );
  });
  return h("ol", { class: "changes", "aria-label": t("what_if.changes") }, items);
}

/**
 * The items of the list: the tokens of one word that is struck out are one item.
 * @param {string[]} list
 * @param {Sides | null} trace
 * @returns {ListItem[]}
 */
export function listItems(list, trace) {
  /** @type {ListItem[]} */
  const items = [];
  const taken = new Set();
  for (const text of list) {
    if (taken.has(text)) continue;
    const texts = wordTexts(text, list, trace);
    for (const one of texts) taken.add(one);
    items.push({ label: label(texts, trace), texts });
  }
  return items;
}

/**
 * All interventions that strike out the word of this one, where its tokens are all struck out.
 * @param {string} text
 * @param {string[]} list
 * @param {Sides | null} trace
 */
function wordTexts(text, list, trace) {
  const found = parseIntervention(text);
  if (found.kind !== "hide" || found.scope || found.side === "image") return [text];
  const word = sideOf(trace, found.side)?.word_pieces.find((pieces) => pieces.includes(found.position));
  const texts = (word ?? []).map((position) => text.replace(/\d+$/, String(position + 1)));
  return texts.length && texts.every((one) => list.includes(one)) ? texts : [text];
}

/**
 * @param {string[]} texts
 * @param {Sides | null} trace
 */
function label(texts, trace) {
  const found = parseIntervention(texts[0]);
  if (found.kind === "head" && found.action in ACTIONS)
    return t(ACTIONS[/** @type {keyof typeof ACTIONS} */ (found.action)], { head: addressText(found) });
  if (found.kind === "without" && !found.scope && found.part in PARTS)
    return t(PARTS[/** @type {keyof typeof PARTS} */ (found.part)]);
  if (found.kind === "hide" && !found.scope) {
    if (found.side === "image") return t("what_if.region_hidden", { number: found.position + 1 });
    const word = sideOf(trace, found.side)?.word_pieces.findIndex((pieces) => pieces.includes(found.position)) ?? -1;
    return t("what_if.word_hidden", { word: sideOf(trace, found.side)?.words[word] ?? String(found.position + 1) });
  }
  if (found.kind === "weights" && found.query !== null && found.keys.length) {
    const isSource = found.role.startsWith("encoder") || found.role.startsWith("image-self");
    const isOfImage = found.role.startsWith("image");
    const keySide = found.role === "decoder-self" ? "target" : "source";
    const names = {
      head: addressText(found),
      query: pieceOf(trace, isSource ? "source" : "target", found.query),
      key: found.keys.map((key) => (isOfImage ? String(key + 1) : pieceOf(trace, keySide, key))).join(" "),
    };
    return found.weight === null
      ? t("what_if.weight_moved", names)
      : t("what_if.weight_set", { ...names, weight: found.weight });
  }
  return texts.join(" ");
}

/** @param {HeadAddress} address */
export function addressText({ role, layer, head }) {
  const layerText = layer === null ? t("what_if.all_layers") : t("heads.layer", { layer: layer + 1 });
  const headText = head === null ? t("what_if.all_heads") : headName(head);
  return `${attentionName(/** @type {AttentionRole} */ (role))}: ${layerText}, ${headText}`;
}

/**
 * @param {Sides | null} trace
 * @param {string} side
 */
function sideOf(trace, side) {
  return trace?.[side === "target" ? "target" : "source"];
}

/**
 * @param {Sides | null} trace
 * @param {string} side
 * @param {number} position
 */
function pieceOf(trace, side, position) {
  return tokenLabel(sideOf(trace, side)?.pieces[position] ?? String(position + 1));
}
