/** What a run saved of its probes: token labels, attention maps and images. Each is fetched once; all end together. */

import { createMapCache } from "./map_cache.js";

/** @import { AttentionMap, Backend, RunProbes } from "./backend.js" */
/** @typedef {ReturnType<typeof createProbeMaps>} ProbeMaps */
/** @typedef {{ step: number, probe: number, layer: number, head: string }} ProbeMapName head: a number from 0, or "mean" */

/**
 * @param {Backend} data
 * @param {string} run
 */
export function createProbeMaps(data, run) {
  const stop = new AbortController();
  const options = { signal: stop.signal };
  const maps = createMapCache((name) => {
    const [step, probe, layer, head] = name.split("/");
    return data.probeWeights(run, { step: Number(step), probe: Number(probe), layer: Number(layer), head }, options);
  });
  const labels = keeping((/** @type {number} */ step) => data.probes(run, step, options));
  const images = keeping((/** @type {number} */ probe) => data.probeImage(run, probe, options));
  const imageNames = keeping(async () => (await data.runImages(run, options)).images);

  return {
    /**
     * Labels and layers at one step: the labels of a probe without a reference change with what the model outputs.
     * @type {(step: number) => Promise<RunProbes>}
     */
    labels,
    /** @returns {Promise<string[]>} file names of the images, one for each probe */
    imageNames: () => imageNames(0),
    /**
     * @param {ProbeMapName} name
     * @returns {Promise<AttentionMap>}
     */
    map: ({ step, probe, layer, head }) => maps.get(`${step}/${probe}/${layer}/${head}`),
    /**
     * The image of a probe as an address that holds it; null where its file is lost or another file has its name.
     * @param {number} probe
     * @param {string} labelled the file name when the probe was saved, "" in runs of earlier versions
     * @returns {Promise<string | null>}
     */
    async image(probe, labelled) {
      const name = (await imageNames(0))[probe];
      return name && (!labelled || labelled === name) ? images(probe).catch(() => null) : null;
    },
    dispose() {
      stop.abort();
      maps.forget();
    },
  };
}

/**
 * A function that fetches each thing once; after a failure, again.
 * @template T
 * @param {(key: number) => Promise<T>} fetch
 * @returns {(key: number) => Promise<T>}
 */
function keeping(fetch) {
  /** @type {Map<number, Promise<T>>} */
  const kept = new Map();
  return (key) => {
    const known = kept.get(key) ?? fetch(key);
    kept.set(key, known);
    known.catch(() => kept.delete(key));
    return known;
  };
}
