/** Controls that views share: buttons of which one is pressed, a drop-down list, a slider. */

import { h } from "../core/ui.js";

/** @import { Ref } from "../core/ui.js" */

/**
 * A row of buttons of which one is pressed.
 * @template {string} T
 * @param {{ label: string, options: (readonly [value: T, label: string])[], value: T, onChange: (value: T) => void }} props
 */
export function Segmented({ label, options, value, onChange }) {
  const buttons = options.map(([one, text]) =>
    h("button", { key: one, type: "button", "aria-pressed": one === value, onClick: () => onChange(one) }, text),
  );
  return h("div", { class: "segments", role: "group", "aria-label": label }, buttons);
}

/**
 * A labelled drop-down list.
 * @param {object} props
 * @param {string} props.label
 * @param {[value: string, label: string][]} props.options
 * @param {string} props.value
 * @param {(value: string) => void} props.onChange
 * @param {string} [props.name]
 * @param {Ref<HTMLSelectElement | null>} [props.selectRef]
 */
export function Select({ label, options, value, onChange, name, selectRef }) {
  const choose = (/** @type {Event} */ event) => onChange(/** @type {HTMLSelectElement} */ (event.target).value);
  const items = options.map(([one, text]) => h("option", { key: one, value: one }, text));
  return h("label", { class: "field" }, label, h("select", { ref: selectRef, name, value, onChange: choose }, items));
}

/**
 * A labelled slider, with its number shown. `onCommit` is called once, when the reader lets go of it.
 * @param {object} props
 * @param {string} props.label
 * @param {number} props.min
 * @param {number} props.max
 * @param {number} [props.step]
 * @param {number} props.value
 * @param {boolean} [props.isDisabled]
 * @param {(value: number) => string} [props.format]
 * @param {(value: number) => void} props.onChange
 * @param {(value: number) => void} [props.onCommit]
 * @param {Ref<HTMLInputElement | null>} [props.inputRef]
 */
export function Slider({
  label,
  min,
  max,
  step = 1,
  value,
  isDisabled = false,
  format = String,
  onChange,
  onCommit,
  inputRef,
}) {
  const given = (/** @type {Event} */ event) => Number(/** @type {HTMLInputElement} */ (event.target).value);
  const listeners = {
    onInput: (/** @type {Event} */ event) => onChange(given(event)),
    onChange: (/** @type {Event} */ event) => onCommit?.(given(event)),
  };
  return h(
    "label",
    { class: "field slider" },
    h("span", null, label, " ", h("span", { class: "number" }, format(value))), // not <output>: the label would be that one's
    h("input", { ref: inputRef, type: "range", min, max, step, value, disabled: isDisabled, ...listeners }),
  );
}

/**
 * Arrow keys move the focus among buttons in rows: along a row, and from row to row.
 * @param {KeyboardEvent & { currentTarget: HTMLElement }} event
 * @param {string} rowSelector
 */
export function moveFocus(event, rowSelector) {
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  const here = /** @type {HTMLElement} */ (event.target).closest("button");
  if (!here || !step) return;
  event.preventDefault();
  const rows = [...event.currentTarget.querySelectorAll(rowSelector)].map((row) => [...row.querySelectorAll("button")]);
  const row = rows.findIndex((buttons) => buttons.includes(here));
  const target = rows[Math.min(rows.length - 1, Math.max(0, row + step[0]))];
  target[Math.min(target.length - 1, Math.max(0, rows[row].indexOf(here) + step[1]))].focus();
}
