// @ts-check
/** A training run from embedded data: its events, and the maps of its probes. */

import { bytesOf } from "./arrays.js";
import { ApiError } from "./errors.js";

/** @import { AttentionMap, Backend } from "./backend.js" */
/** @import { EmbeddedRun, PackedLevels } from "./embedded_data.js" */

/**
 * The methods of the Backend interface that Training uses.
 * @param {EmbeddedRun} run
 * @returns {Partial<Backend>}
 */
export function embeddedRun({ record, events, probes, probes_by_step, maps, images, omitted }) {
  return {
    omitted,
    runs: async () => ({ runs: [{ ...record }] }),
    runEvents: async (_run, after) => ({ events: events.slice(after), next: events.length }),
    probes: async (_run, step) => probes[probes_by_step[step]],
    runImages: async () => ({ images: images.map(({ name }) => name) }),
    probeImage: async (_run, probe) => images[probe].address,
    async probeWeights(_run, { step, probe, layer, head = "mean" }) {
      const map = maps[step]?.[probe]?.[layer];
      if (!map) throw new ApiError("no_probe", "this file holds no such map");
      return unpackedHead(map, head);
    },
  };
}

/**
 * One head of rounded weights, or the mean of all heads, as floats.
 * @param {PackedLevels} map
 * @param {number | string} head
 * @returns {AttentionMap}
 */
function unpackedHead({ shape: [heads, rows, columns], levels, data }, head) {
  const bytes = bytesOf(data);
  const numbers = levels > 255 ? new Uint16Array(bytes.buffer) : bytes;
  const size = rows * columns;
  const chosen = head === "mean" ? Array.from({ length: heads }, (_, index) => index) : [Number(head)];
  const weights = new Float32Array(size);
  for (const part of chosen) {
    for (let index = 0; index < size; index += 1)
      weights[index] += numbers[part * size + index] / levels / chosen.length;
  }
  return { weights, rows, columns };
}
