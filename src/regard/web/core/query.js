// @ts-check
/** Hooks that every view needs: the state of a request, the width of an element, and the focus after a change. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "./ui.js";

/** @import { Ref } from "./ui.js" */

/**
 * @template T
 * @typedef {{ data: T | null, error: Error | null, isLoading: boolean }} Query
 */

/** @type {Query<any>} */
const IDLE = { data: null, error: null, isLoading: false };

/**
 * The state of one request. It is sent again when `deps` change; the request before is aborted and its answer dropped.
 * The render in which `deps` change already returns the new state, so an old answer is never shown with a new choice.
 * @template T
 * @param {((signal: AbortSignal) => Promise<T>) | null | undefined | false | ""} load nothing is requested without it
 * @param {readonly unknown[]} deps they also change when `load` becomes or ceases to be null
 * @param {{ keepsData?: boolean }} [options] keepsData: the last answer stays while the next one is loading
 * @returns {Query<T>}
 */
export function useQuery(load, deps, { keepsData = false } = {}) {
  const request = useMemo(() => Symbol("request"), deps);
  const [settled, setSettled] = useState(/** @type {Query<T> & { request?: symbol }} */ (IDLE));
  useEffect(() => {
    if (!load) return void setSettled({ ...IDLE, request });
    const controller = new AbortController();
    const settle = (/** @type {Query<T>} */ next) => controller.signal.aborted || setSettled({ ...next, request });
    load(controller.signal).then(
      (data) => settle({ data, error: null, isLoading: false }),
      (error) => settle({ data: null, error, isLoading: false }),
    );
    return () => controller.abort();
  }, [request]);
  if (settled.request === request) return settled;
  return load ? { data: keepsData ? settled.data : null, error: null, isLoading: true } : IDLE;
}

/**
 * The width of an element in CSS pixels, 0 until it is laid out.
 * @template {Element} [T=HTMLDivElement]
 * @returns {[Ref<T | null>, number]}
 */
export function useWidth() {
  const ref = useRef(/** @type {T | null} */ (null));
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(Math.floor(element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

/**
 * Where a change has removed or disabled what had the focus, the element takes it.
 * @template {HTMLElement} [T=HTMLElement]
 * @param {unknown} change undefined: nothing was there before
 * @returns {Ref<T | null>}
 */
export function useLostFocus(change) {
  const ref = useRef(/** @type {T | null} */ (null));
  const before = useRef(change);
  useLayoutEffect(() => {
    const { activeElement: focused, body } = document;
    const isLost = focused === body || focused?.matches(":disabled");
    if (before.current !== undefined && before.current !== change && isLost)
      ref.current?.focus({ preventScroll: true });
    before.current = change;
  }, [change]);
  return ref;
}
