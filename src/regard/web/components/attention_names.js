/** What the page calls an attention of a model: its role, its layer and its head. */

import { t } from "../core/i18n.js";

/** @import { AttentionRole } from "../data/backend.js" */

const NAMES = /** @type {const} */ ({
  cross: "heads.cross",
  "image-cross": "heads.picture",
  "encoder-self": "heads.encoder_self",
  "decoder-self": "heads.decoder_self",
  "image-self": "heads.picture_self",
});
const TEXTS = /** @type {const} */ ({
  cross: "heads.use_cross",
  "image-cross": "heads.use_picture",
  "encoder-self": "heads.use_encoder_self",
  "decoder-self": "heads.use_decoder_self",
  "image-self": "heads.use_picture_self",
  rollout: "heads.use_rollout",
});

/** @param {AttentionRole} role */
export function attentionName(role) {
  return t(NAMES[role]);
}

/**
 * How to read a map of this role.
 * @param {AttentionRole | "rollout"} role
 */
export function attentionText(role) {
  return t(TEXTS[role]);
}

/** @param {number | string} head a number from 0, "mean", or "all" together */
export function headName(head) {
  if (head === "all") return t("heads.all_heads");
  return head === "mean" ? t("heads.mean_of_heads") : t("heads.head", { head: Number(head) + 1 });
}

/**
 * The choice of a head: the mean of all, then each.
 * @param {number} heads
 * @returns {[value: string, label: string][]}
 */
export function headOptions(heads) {
  const values = ["mean", ...Array.from({ length: heads }, (_, index) => String(index))];
  return values.map((value) => [value, headName(value)]);
}

/**
 * "Decoder to encoder: layer 2, head 1".
 * @param {{ role: AttentionRole, layer: number }} layer
 * @param {number | string} head
 */
export function layerHeadTitle({ role, layer }, head) {
  return `${attentionName(role)}: ${t("heads.layer", { layer: layer + 1 })}, ${headName(head)}`;
}
