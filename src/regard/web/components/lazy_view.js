// @ts-check
/** A view whose module is loaded when the view is opened. */

import { useQuery } from "../core/query.js";
import { h } from "../core/ui.js";
import { ApiError } from "../data/errors.js";
import { Loading, Problem } from "./placeholders.js";

/** @import { Store } from "../core/store.js" */
/** @import { ComponentChildren } from "../core/ui.js" */
/** @typedef {(props: { store: Store }) => ComponentChildren} ViewComponent */

/** @type {Map<() => Promise<ViewComponent>, ViewComponent>} */
const loaded = new Map(); // so that a view that was open before is there at once

/** @param {{ store: Store, load: () => Promise<ViewComponent> }} props */
export function LazyView({ store, load }) {
  const View = loaded.get(load);
  const { error } = useQuery(!View && (() => keepLoaded(load)), [load]);
  if (View) return h(View, { store });
  return error ? h(Problem, { error }) : h(Loading, null);
}

/** @param {() => Promise<ViewComponent>} load */
async function keepLoaded(load) {
  const View = await load().catch((error) => {
    throw new ApiError("script_missing", error.message);
  });
  loaded.set(load, View);
}
