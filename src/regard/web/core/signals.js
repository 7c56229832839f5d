// @ts-check
/**
 * Values that report their changes: the subset of the API of @preact/signals-core that the page uses.
 * An observer (a computed value, an effect, a component) remembers the version of each source that it read. A change
 * marks observers as stale; before they run again they compare versions, so that a computed value that comes out
 * the same runs nothing.
 */

/**
 * @typedef {object} Observer
 * @property {Map<Signal<any>, number>} _sources what it read last, with the version that it read
 * @property {boolean} _isLive whether its sources have to notify it
 * @property {() => void} _notify
 */

const MOST_ROUNDS = 100; // of effects that change what other effects read

/** @type {Observer | null} */
let reader = null;
let batchDepth = 0;
/** @type {Set<Effect>} */
const staleEffects = new Set();

/** @template T */
export class Signal {
  /** @param {T} value */
  constructor(value) {
    /** @type {T} */
    this._value = value;
    this._version = 0;
    /** @type {Set<Observer>} */
    this._observers = new Set();
  }

  /** @returns {T} */
  get value() {
    this._refresh();
    if (reader && !reader._sources.has(this)) {
      reader._sources.set(this, this._version);
      if (reader._isLive) this._attach(reader);
    }
    return this._value;
  }

  set value(next) {
    if (!this._change(next)) return;
    batch(() => {
      for (const observer of [...this._observers]) observer._notify();
    });
  }

  /** The value, without being notified of its changes. */
  peek() {
    this._refresh();
    return this._value;
  }

  /** @param {(value: T) => void} listener */
  subscribe(listener) {
    return effect(() => {
      const { value } = this;
      untracked(() => listener(value));
    });
  }

  _refresh() {}

  /**
   * @param {T} next
   * @returns {boolean} whether the value is another one now
   */
  _change(next) {
    if (Object.is(next, this._value)) return false;
    this._value = next;
    this._version += 1;
    return true;
  }

  /** @param {Observer} observer */
  _attach(observer) {
    this._observers.add(observer);
  }

  /** @param {Observer} observer */
  _detach(observer) {
    this._observers.delete(observer);
  }
}

/**
 * @template T
 * @extends {Signal<T>}
 */
class Computed extends Signal {
  /** @param {() => T} compute */
  constructor(compute) {
    super(/** @type {any} */ (undefined));
    this._compute = compute;
    /** @type {Map<Signal<any>, number>} */
    this._sources = new Map();
    this._isLive = false; // sources notify it only while it has observers itself, so that nothing keeps it alive else
    this._isStale = true;
    this._hasValue = false;
  }

  _refresh() {
    if (this._isLive && !this._isStale) return;
    if (!this._hasValue || hasChanged(this)) {
      this._change(track(this, this._compute));
      this._hasValue = true;
    }
    this._isStale = false;
  }

  _notify() {
    if (this._isStale) return;
    this._isStale = true;
    for (const observer of [...this._observers]) observer._notify();
  }

  /** @param {Observer} observer */
  _attach(observer) {
    if (!this._observers.size) {
      this._isLive = true;
      for (const source of this._sources.keys()) source._attach(this);
    }
    super._attach(observer);
  }

  /** @param {Observer} observer */
  _detach(observer) {
    super._detach(observer);
    if (this._observers.size) return;
    this._isLive = false;
    for (const source of this._sources.keys()) source._detach(this);
  }
}

class Effect {
  /** @param {() => void | (() => void)} run */
  constructor(run) {
    this._run = run;
    /** @type {Map<Signal<any>, number>} */
    this._sources = new Map();
    this._isLive = true;
    /** @type {void | (() => void)} */
    this._cleanup = undefined;
  }

  _notify() {
    staleEffects.add(this);
  }

  run() {
    this.cleanUp();
    this._cleanup = track(this, this._run);
  }

  cleanUp() {
    const cleanup = this._cleanup;
    this._cleanup = undefined;
    if (cleanup) untracked(cleanup);
  }

  dispose() {
    staleEffects.delete(this);
    release(this);
    this.cleanUp();
  }
}

/**
 * Run a function and remember what it read.
 * @template T
 * @param {Observer} observer
 * @param {() => T} read
 * @returns {T}
 */
export function track(observer, read) {
  const [before, outer] = [observer._sources, reader];
  observer._sources = new Map();
  reader = observer;
  try {
    return read();
  } finally {
    reader = outer;
    for (const source of before.keys()) if (!observer._sources.has(source)) source._detach(observer);
  }
}

/** @param {Observer} observer */
export function release(observer) {
  observer._isLive = false;
  for (const source of observer._sources.keys()) source._detach(observer);
  observer._sources = new Map();
}

/**
 * Whether a source has another value than the one that the observer read.
 * @param {Observer} observer
 */
export function hasChanged(observer) {
  for (const [source, version] of observer._sources) {
    source._refresh();
    if (source._version !== version) return true;
  }
  return false;
}

/**
 * @template T
 * @param {T} value
 */
export function signal(value) {
  return new Signal(value);
}

/**
 * @template T
 * @param {() => T} compute
 * @returns {{ readonly value: T, peek(): T, subscribe(listener: (value: T) => void): () => void }}
 */
export function computed(compute) {
  return new Computed(compute);
}

/**
 * Run a function now and whenever a signal that it read changes; what it returns is called before the next run.
 * @param {() => void | (() => void)} run
 * @returns {() => void} how to end it
 */
export function effect(run) {
  const made = new Effect(run);
  made.run();
  return () => made.dispose();
}

/**
 * Change several signals; effects run once, after all changes.
 * @template T
 * @param {() => T} change
 * @returns {T}
 */
export function batch(change) {
  batchDepth += 1;
  try {
    return change();
  } finally {
    try {
      if (batchDepth === 1) runStaleEffects();
    } finally {
      batchDepth -= 1;
    }
  }
}

function runStaleEffects() {
  for (let round = 0; staleEffects.size; round += 1) {
    if (round === MOST_ROUNDS) {
      staleEffects.clear();
      throw new Error("Effects change what they read, without end. Read with peek() what an effect writes.");
    }
    const stale = [...staleEffects];
    staleEffects.clear();
    for (const made of stale) if (made._isLive && hasChanged(made)) made.run();
  }
}

/**
 * Read signals without being notified of their changes.
 * @template T
 * @param {() => T} read
 * @returns {T}
 */
export function untracked(read) {
  const outer = reader;
  reader = null;
  try {
    return read();
  } finally {
    reader = outer;
  }
}
