// @ts-check
/** Components on the page: when they render again, and when their effects run. */

import { hasChanged, release, track } from "./signals.js";

/** @import { Signal } from "./signals.js" */
/** @import { Component } from "./ui_types.js" */
/** @import { VNode } from "./vnode.js" */

/** @typedef {{ deps?: readonly unknown[], value?: any, run?: (() => void | (() => void)) | null, cleanup?: void | (() => void), set?: any }} Hook */

/** @type {Instance | null} */
let rendering = null;
let hookIndex = 0;
/** @type {Set<Instance>} */
const staleInstances = new Set();
/** @type {(() => void)[]} run as soon as the DOM is complete */
let layoutEffects = [];
/** @type {Hook[]} run after the browser has painted */
let effects = [];

/** A component on the page: its hooks, and the signals that it read. */
export class Instance {
  /**
   * @param {VNode} vnode
   * @param {(instance: Instance, container: any) => void} rerender puts what the component returns on the page
   */
  constructor(vnode, rerender) {
    this.vnode = vnode;
    this.rerender = rerender;
    /** @type {Hook[]} */
    this.hooks = [];
    /** @type {Map<Signal<any>, number>} */
    this._sources = new Map();
    this._isLive = true;
    this.isStale = false; // its state has changed
  }

  _notify() {
    schedule(this);
  }

  /** What the component returns now. */
  content() {
    const [outer, outerIndex] = [rendering, hookIndex];
    [rendering, hookIndex] = [this, 0];
    this.isStale = false;
    staleInstances.delete(this);
    try {
      const { type, props } = this.vnode;
      return track(this, () => /** @type {Component<any>} */ (type)(props));
    } finally {
      [rendering, hookIndex] = [outer, outerIndex];
    }
  }

  /** Effects of children come before those of their parents. */
  collectEffects() {
    for (const hook of this.hooks) {
      if (!hook.run) continue;
      if (hook.value === "layout") layoutEffects.push(() => runEffect(hook));
      else effects.push(hook);
    }
    if (effects.length) scheduleEffects();
  }

  end() {
    staleInstances.delete(this);
    release(this);
    for (const hook of this.hooks) {
      hook.run = null;
      hook.cleanup?.();
      hook.cleanup = undefined;
    }
  }
}

/** @param {Instance} instance */
export function schedule(instance) {
  if (!instance._isLive) return;
  if (!staleInstances.size) queueMicrotask(renderStale);
  staleInstances.add(instance);
}

/** Render what has changed, parents first: a parent may render its children, or remove them. */
function renderStale() {
  runEffects();
  const stale = [...staleInstances].map((instance) => ({ instance, depth: depthOf(instance.vnode) }));
  stale.sort((a, b) => a.depth - b.depth);
  try {
    for (const { instance } of stale) {
      if (!staleInstances.delete(instance) || !(instance.isStale || hasChanged(instance))) continue;
      instance.rerender(instance, containerOf(instance.vnode));
    }
  } finally {
    runLayoutEffects();
    if (staleInstances.size) queueMicrotask(renderStale);
  }
}

/** @param {VNode} vnode */
function depthOf(vnode) {
  let depth = 0;
  for (let above = vnode.parent; above; above = above.parent) depth += 1;
  return depth;
}

/** @param {VNode} vnode */
function containerOf(vnode) {
  let above = vnode.parent;
  while (above && !above.dom) above = above.parent;
  return above?.dom;
}

export function runLayoutEffects() {
  while (layoutEffects.length) {
    const waiting = layoutEffects;
    layoutEffects = [];
    for (const run of waiting) run();
  }
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let effectTimer;

function scheduleEffects() {
  effectTimer ??= setTimeout(runEffects);
}

function runEffects() {
  clearTimeout(effectTimer);
  effectTimer = undefined;
  const waiting = effects;
  effects = [];
  for (const hook of waiting) runEffect(hook);
}

/** @param {Hook} hook */
function runEffect(hook) {
  const { run } = hook;
  if (!run) return;
  hook.run = null;
  const { cleanup } = hook;
  hook.cleanup = undefined;
  cleanup?.();
  hook.cleanup = run();
}

/**
 * The hook at this place of the component that is rendered.
 * @param {() => Hook} make
 * @returns {Hook}
 */
export function useHook(make) {
  if (!rendering) throw new Error("A hook was called outside of a component. Call it while a component renders.");
  const { hooks } = rendering;
  hooks[hookIndex] ??= make();
  hookIndex += 1;
  return hooks[hookIndex - 1];
}

/** The component that renders now. */
export function currentInstance() {
  return rendering;
}

/**
 * Run something as soon as the DOM is complete.
 * @param {() => void} run
 */
export function afterLayout(run) {
  layoutEffects.push(run);
}
