// @ts-check
/**
 * Components on signals: the subset of the API of Preact and its signals that the page uses. Function components, hooks,
 * keyed children, HTML, SVG and MathML. tests/web/ui.test.js renders the same components with Preact and compares the
 * DOM. A component renders again when its props, its state or a signal that it read has changed.
 */

export {
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useSignal,
  useState,
} from "./hooks.js";
export { render } from "./render.js";
export { batch, computed, effect, Signal, signal, untracked } from "./signals.js";
export { Fragment, h, VNode } from "./vnode.js";

/** @typedef {import("./ui_types.js").ComponentChildren} ComponentChildren */
/** @typedef {import("./ui_types.js").Attributes} Attributes */
/** @typedef {import("./ui_types.js").Props} Props */
/** @template T @typedef {import("./ui_types.js").Ref<T>} Ref */
/** @template T @typedef {import("./ui_types.js").Component<T>} Component */
