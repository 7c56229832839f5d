// @ts-check
/** Hooks: state, effects and values that a component keeps from one render to the next. */

import { currentInstance, schedule, useHook } from "./component.js";
import { signal } from "./signals.js";

/** @import { Instance } from "./component.js" */
/** @import { Signal } from "./signals.js" */
/** @import { Ref } from "./ui_types.js" */

/**
 * @param {readonly unknown[] | undefined} old
 * @param {readonly unknown[] | undefined} deps
 */
function haveChanged(old, deps) {
  return !old || !deps || old.length !== deps.length || deps.some((value, index) => !Object.is(value, old[index]));
}

/**
 * @template T
 * @param {T | (() => T)} initial
 * @returns {[T, (next: T | ((value: T) => T)) => void]}
 */
export function useState(initial) {
  const instance = currentInstance();
  const hook = useHook(() => ({ value: typeof initial === "function" ? /** @type {() => T} */ (initial)() : initial }));
  hook.set ??= (/** @type {any} */ next) => {
    const value = typeof next === "function" ? next(hook.value) : next;
    if (Object.is(value, hook.value)) return;
    hook.value = value;
    /** @type {Instance} */ (instance).isStale = true;
    schedule(/** @type {Instance} */ (instance));
  };
  return [hook.value, hook.set];
}

/**
 * @param {() => void | (() => void)} run
 * @param {readonly unknown[]} [deps]
 * @param {string} [when]
 */
function useEffectHook(run, deps, when) {
  const hook = useHook(() => ({ value: when }));
  if (!haveChanged(hook.deps, deps)) return;
  hook.deps = deps;
  hook.run = run;
}

/**
 * Run after the page has been painted, and again when `deps` change; what it returns is called before that and at the end.
 * @param {() => void | (() => void)} run
 * @param {readonly unknown[]} [deps]
 */
export function useEffect(run, deps) {
  useEffectHook(run, deps, "effect");
}

/**
 * The same before the page is painted: for what measures or paints.
 * @param {() => void | (() => void)} run
 * @param {readonly unknown[]} [deps]
 */
export function useLayoutEffect(run, deps) {
  useEffectHook(run, deps, "layout");
}

/**
 * @template T
 * @param {() => T} make
 * @param {readonly unknown[]} deps
 * @returns {T}
 */
export function useMemo(make, deps) {
  const hook = useHook(() => ({}));
  if (haveChanged(hook.deps, deps)) {
    hook.value = make();
    hook.deps = deps;
  }
  return hook.value;
}

/**
 * @template {(...values: any[]) => any} T
 * @param {T} callback
 * @param {readonly unknown[]} deps
 * @returns {T}
 */
export function useCallback(callback, deps) {
  return useMemo(() => callback, deps);
}

/**
 * @template T
 * @param {T} initial
 * @returns {Ref<T>}
 */
export function useRef(initial) {
  return useMemo(() => ({ current: initial }), []);
}

/**
 * @template T
 * @param {T} initial
 * @returns {Signal<T>}
 */
export function useSignal(initial) {
  return useMemo(() => signal(initial), []);
}

const pageId = Math.random().toString(36).slice(2, 7); // two widgets in one notebook have a copy of this module each
let ids = 0;

/** An id that no other element of the document has. */
export function useId() {
  return useMemo(() => {
    ids += 1;
    return `r${pageId}-${ids}`;
  }, []);
}
