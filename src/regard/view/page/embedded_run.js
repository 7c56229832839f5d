/** The API's answers for one run, out of data that stands in the page: its journal, and the maps of its probes. */

import { ApiError } from "./api.js";

/** The methods of Api that the Training view asks, over the "run" of embedded data (its shape stands at the top of api.js). */
export function embeddedRun({ record, events, probes, described, maps, pictures, left_out: leftOut }) {
  return {
    leftOut,
    runs: async () => ({ runs: [{ ...record }] }),
    runEvents: async (run, after) => ({ events: events.slice(after), next: events.length }),
    probes: async (run, step) => probes[described[step]],
    runPictures: async () => ({ pictures: pictures.map(({ name }) => name) }),
    probePicture: async (run, probe) => pictures[probe].address,
    probeWeights: async (run, { step, probe, layer, head = "mean" }) => oneHead(mapOf(maps, { step, probe, layer }), head),
  };
}

function mapOf(maps, { step, probe, layer }) {
  const found = maps[step]?.[probe]?.[layer];
  if (!found) throw new ApiError("no_probe", "this file holds no such map");
  return found;
}

/** One head of rounded weights, or the mean of them, as floats. */
function oneHead({ shape: [heads, rows, columns], levels, data }, head) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const numbers = levels > 255 ? new Uint16Array(bytes.buffer) : bytes;
  const size = rows * columns;
  const chosen = head === "mean" ? Array.from({ length: heads }, (_, index) => index) : [Number(head)];
  const weights = new Float32Array(size);
  for (const one of chosen) for (let index = 0; index < size; index += 1) weights[index] += numbers[one * size + index] / levels / chosen.length;
  return { weights, rows, columns };
}
