// @ts-check
/** "Without scaling" and "without masking", each where there is something to switch off. */

import { t } from "../../core/i18n.js";
import { h } from "../../core/ui.js";
import { isMasked, isScaled } from "./step_params.js";

/** @import { ParamName, UrlState } from "../../core/url.js" */
/** @import { Detail } from "./step_card.js" */

/**
 * @param {object} props
 * @param {Detail} props.detail
 * @param {UrlState} props.params
 * @param {(changes: UrlState) => void} props.onChange
 */
export function Switches({ detail, params, onChange }) {
  const hasScaling = isScaled(detail);
  const hasMask = isMasked(detail);
  return [
    h(CheckBox, {
      name: "unscaled",
      label: t("inside.without_scaling"),
      isChecked: hasScaling && params.unscaled === "1",
      onChange,
      whyDisabled: hasScaling ? null : t("inside.without_scaling_none"),
    }),
    h(CheckBox, {
      name: "unmasked",
      label: t("inside.without_masking"),
      isChecked: hasMask && params.unmasked === "1",
      onChange,
      whyDisabled: hasMask ? null : t("inside.without_masking_none"),
    }),
  ];
}

/**
 * A parameter that is on ("1") or off.
 * @param {{ name: ParamName, label: string, isChecked: boolean, onChange: (changes: UrlState) => void, whyDisabled?: string | null }} props
 */
export function CheckBox({ name, label, isChecked, onChange, whyDisabled = null }) {
  const change = (/** @type {Event} */ event) =>
    onChange({ [name]: /** @type {HTMLInputElement} */ (event.target).checked ? "1" : "" });
  const input = { type: "checkbox", name, checked: isChecked, disabled: whyDisabled !== null, onChange: change };
  return h("label", { class: "check", title: whyDisabled }, h("input", input), label);
}
