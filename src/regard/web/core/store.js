// @ts-check
/** The state of the page. What a link must restore is one flat record, `url`; the rest comes from the backend. */

import { batch, computed, effect, signal } from "./ui.js";
import { changedState, formatHash, isStep, parseHash } from "./url.js";

/** @import { Backend, Model } from "../data/backend.js" */
/** @import { Traces } from "../data/traces.js" */
/** @import { UrlState } from "./url.js" */
/** @import { Signal } from "./ui.js" */

const MODELS_EVERY = 5000; // ms; models appear while `make demo` trains them
const LOADING_EVERY = 100; // ms at first, until the chosen model is loaded; a model that cannot be loaded slows it down
const OTHERS_EVERY = 1000; // ms at first, while the server is loading other models
const SLOWER = 1.3; // times as long after each answer without a new model
const URL_DELAY = 250; // ms; browsers refuse more than 100 to 200 changes of the address in 30 s, and a slider makes as many

/** @typedef {ReturnType<typeof createStore>} Store */

/**
 * @param {Backend} data
 * @param {Traces} traces
 * @param {{ usesUrl?: boolean }} [options] usesUrl: the state is kept in the address of the page
 */
export function createStore(data, traces, { usesUrl = false } = {}) {
  const url = signal(usesUrl ? parseHash(location.hash) : /** @type {UrlState} */ ({}));
  const models = signal(/** @type {Model[]} */ ([]));
  const isStarted = signal(false); // whether the backend has answered, or failed to
  const fallback = signal(""); // the model that is shown while none was chosen
  const draft = signal(/** @type {string | null} */ (null)); // what is typed and not sent yet
  const earlierChanges = signal(/** @type {string[]} */ ([]));
  const isOffline = signal(false);
  const stop = new AbortController();
  let known = usesUrl ? location.hash : ""; // the address that was read or written last
  let interval = MODELS_EVERY; // ms until the models are requested again
  let polling = /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined);
  let timer = /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined);

  const model = computed(() => {
    const named = (/** @type {string | undefined} */ name) => models.value.find((known) => known.name === name);
    return named(url.value.model) ?? named(fallback.value) ?? null;
  });
  /** What a link holds: a file has one model and one sentence, which it need not name. */
  const shared = computed(() =>
    data.isEmbedded ? url.value : { ...url.value, model: model.value?.name ?? url.value.model },
  );

  /** @param {"pushState" | "replaceState"} how */
  const writeUrl = (how) => {
    clearTimeout(timer);
    timer = undefined;
    const hash = formatHash(shared.peek());
    if (!usesUrl || !url.peek().view || hash === location.hash) return;
    if (how === "replaceState" && location.hash !== known) return; // a link was followed: `restore` is about to run
    history[how](null, "", hash);
    known = location.hash;
  };
  const writeWaiting = () => timer !== undefined && writeUrl("replaceState");

  /**
   * Interventions on one model, or on the words of one text, must not come back with undo on another.
   * @param {UrlState} before
   * @param {UrlState} next
   */
  const forgetChanges = (before, next) => {
    if (before.model !== next.model || before.text !== next.text) earlierChanges.value = [];
  };

  /** @param {UrlState} changes */
  const set = (changes) => {
    const before = shared.peek();
    const next = changedState(before, changes);
    forgetChanges(before, next);
    if (isStep(before, next)) {
      writeWaiting();
      url.value = next;
      writeUrl("pushState");
    } else {
      url.value = next;
      clearTimeout(timer);
      timer = setTimeout(() => writeUrl("replaceState"), URL_DELAY);
    }
  };

  const restore = () => {
    clearTimeout(timer);
    known = location.hash;
    const next = parseHash(known);
    batch(() => {
      forgetChanges(shared.peek(), next);
      if ((next.text ?? "") !== (url.peek().text ?? "")) draft.value = null;
      url.value = next;
    });
  };

  const refreshModels = async () => {
    try {
      const answer = await data.models({ signal: stop.signal });
      batch(() => {
        const isNews = JSON.stringify(answer.models) !== JSON.stringify(models.peek());
        if (isNews) models.value = answer.models;
        const isLoading = answer.models.some(({ is_ready, run }) => !is_ready && !run);
        if (!model.peek()) fallback.value = firstModel(answer.models)?.name ?? "";
        const first = model.peek()?.is_ready ? OTHERS_EVERY : LOADING_EVERY;
        interval = !isLoading ? MODELS_EVERY : isNews ? first : Math.min(MODELS_EVERY, SLOWER * interval);
        isOffline.value = false;
      });
    } catch (error) {
      if (!stop.signal.aborted) isOffline.value = /** @type {{ code?: string }} */ (error).code === "unreachable";
    }
    isStarted.value = true;
  };

  if (usesUrl) {
    addEventListener("hashchange", restore, { signal: stop.signal });
    addEventListener("pagehide", writeWaiting, { signal: stop.signal });
  }
  const poll = async () => {
    if (!document.hidden || !isStarted.peek()) await refreshModels();
    if (!data.isEmbedded && !stop.signal.aborted) polling = setTimeout(poll, interval);
  };
  poll();

  return {
    data,
    traces,
    url,
    shared,
    set,
    models,
    isStarted,
    fallback,
    model,
    /** The sentence that all views share; a file has one of its own, which its address need not name. */
    text: computed(() => url.value.text || data.sourceText || ""),
    draft,
    /** The address of what is shown. */
    link() {
      writeWaiting();
      return location.href.split("#")[0] + formatHash(shared.peek());
    },
    /** An image from the reader's disk, which no address can hold. */
    ownImage: signal(/** @type {{ blob: Blob | null } | null} */ (null)),
    /** Interventions before each change of them, for undo. */
    earlierChanges,
    isOffline,
    /** What a screen reader reads out when it changes. */
    announcement: signal(""),
    /** End what the store has begun. */
    dispose() {
      stop.abort();
      clearTimeout(polling);
      clearTimeout(timer);
    },
  };
}

/** @param {Model[]} models */
function firstModel(models) {
  return models.find(({ is_ready, has_attention }) => is_ready && has_attention) ?? models[0];
}

/**
 * A view's own parameters with their defaults.
 * @template {Record<string, string>} T
 * @param {Store} store
 * @param {T} defaults
 * @returns {T}
 */
export function paramsOf(store, defaults) {
  const state = /** @type {Record<string, string | undefined>} */ (store.url.value);
  const values = Object.entries(defaults).map(([name, value]) => [name, state[name] || value]);
  return /** @type {T} */ (Object.fromEntries(values));
}

/**
 * Keep a signal in the browser where it allows that; a file from disk or a notebook may forbid it.
 * @template {string} T
 * @param {string} name
 * @param {Signal<T>} state
 * @param {readonly T[]} allowed
 * @returns {() => void}
 */
export function persist(name, state, allowed) {
  try {
    const stored = /** @type {T | null} */ (localStorage.getItem(`regard.${name}`));
    if (stored && allowed.includes(stored)) state.value = stored;
    return effect(() => localStorage.setItem(`regard.${name}`, state.value));
  } catch {
    return () => {};
  }
}
