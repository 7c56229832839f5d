/** The maps of one trace or run, fetched one at a time, the latest request first; those used last are kept. */

/** @import { AttentionMap } from "./backend.js" */
/** @typedef {{ name: string, resolve: (map: AttentionMap) => void, reject: (error: unknown) => void }} Request */
/** @typedef {ReturnType<typeof createMapCache>} MapCache */

const KEPT_NUMBERS = 12_000_000; // of float32: about 48 MB

/** @param {(name: string) => Promise<AttentionMap>} fetch */
export function createMapCache(fetch) {
  /** @type {Map<string, Promise<AttentionMap>>} the least recently used first */
  const kept = new Map();
  /** @type {Map<string, number>} */
  const sizes = new Map();
  /** @type {Request[]} */
  const waiting = [];
  let isBusy = false;

  const work = async () => {
    if (isBusy) return;
    isBusy = true;
    for (let next = waiting.pop(); next; next = waiting.pop()) await fetch(next.name).then(next.resolve, next.reject);
    isBusy = false;
  };

  const request = (/** @type {string} */ name) => {
    /** @type {Promise<AttentionMap>} */
    const promise = new Promise((resolve, reject) => waiting.push({ name, resolve, reject }));
    promise.then(
      (map) => makeRoom(name, map.weights.length),
      () => kept.get(name) === promise && kept.delete(name),
    );
    work();
    return promise;
  };

  const makeRoom = (/** @type {string} */ newest, /** @type {number} */ size) => {
    sizes.set(newest, size);
    let total = [...sizes.values()].reduce((sum, one) => sum + one, 0);
    for (const name of [...kept.keys()]) {
      if (total <= KEPT_NUMBERS) return;
      const numbers = sizes.get(name);
      if (name === newest || numbers === undefined) continue; // a map without a size is still being fetched
      total -= numbers;
      sizes.delete(name);
      kept.delete(name);
    }
  };

  return {
    /**
     * The map of that name, from memory where it is there.
     * @param {string} name
     * @returns {Promise<AttentionMap>}
     */
    get(name) {
      const promise = kept.get(name) ?? request(name);
      kept.delete(name);
      kept.set(name, promise); // now the most recently used
      return promise;
    },

    /** Drop all maps; what still waits is rejected, so that no caller waits for ever. */
    forget() {
      for (const { reject } of waiting.splice(0))
        reject(new DOMException("the maps are no longer needed", "AbortError"));
      kept.clear();
      sizes.clear();
    },
  };
}
