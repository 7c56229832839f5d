/** Traces of texts and captions, and the outputs of language models, by their request: views never see that a trace has an id which the server may forget. */

import { isTraceGone } from "./errors.js";
import { shareRequests } from "./shared_request.js";

/** @import { Backend, Caption, CaptionRequest, ClassifyRequest, CompleteRequest, FillRequest, RequestOptions } from "./backend.js" */
/**
 * Without a target: of the model's own output.
 * @typedef {{ model: string, text: string, target?: string, interventions?: string[] }} TraceRequest
 */
/** @typedef {ReturnType<typeof createTraces>} Traces */

const NO_CAPTION = { score: 0, log_probability: 0, gold: null }; // what a class has not
const KEPT = 4; // all views show the same sentence, before and after interventions

/** @param {Backend} data */
export function createTraces(data) {
  const texts = tracesOf((/** @type {TraceRequest} */ request, options) => data.traces(request, options));
  const captions = tracesOf(
    (/** @type {CaptionRequest} */ request, options) => completeCaption(data, request, options),
    captionKey,
  );
  const kept = { kept: KEPT };
  return {
    ...texts,
    captions,
    complete: shareRequests((/** @type {CompleteRequest} */ request, options) => data.complete(request, options), kept)
      .get,
    fill: shareRequests((/** @type {FillRequest} */ request, options) => data.fill(request, options), kept).get,
    classify: shareRequests((/** @type {ClassifyRequest} */ request, options) => data.classify(request, options), kept)
      .get,
  };
}

/**
 * @template Request, Made
 * @param {(request: Request, options?: RequestOptions) => Promise<Made>} load
 * @param {(request: Request) => string} [keyOf]
 */
function tracesOf(load, keyOf) {
  const { get, forget } = shareRequests(load, { kept: KEPT, ...(keyOf && { keyOf }) });

  /**
   * What `use` makes of the trace; once more with a new trace where the server has forgotten it.
   * @template T
   * @param {Request} request
   * @param {(trace: Made) => Promise<T>} use
   * @param {RequestOptions} [options]
   */
  const withTrace = async (request, use, options) => {
    const trace = await get(request, options);
    try {
      return await use(trace);
    } catch (error) {
      if (!isTraceGone(error)) throw error;
      forget(request, trace);
      return use(await get(request, options));
    }
  };
  return { get, withTrace };
}

/**
 * The whole caption, at the end of the stream of its beginnings; or the class of the image.
 * @param {Backend} data
 * @param {CaptionRequest} request
 * @param {RequestOptions} [options]
 * @returns {Promise<Caption>}
 */
async function completeCaption(data, { classifies, ...request }, options) {
  if (classifies) return { ...(await data.classifyImage(request, options)), ...NO_CAPTION };
  for await (const event of data.caption(request, options)) if (event.event === "done") return event;
  throw new Error("the stream of the caption ended before the caption did");
}

/** @type {WeakMap<Blob, number>} */
const blobNumbers = new WeakMap();
let blobs = 0;

/**
 * A text that is another one for another request; an image of the reader's has a number.
 * @param {CaptionRequest} request
 */
export function captionKey({ image, ...rest }) {
  if (image && !blobNumbers.has(image)) {
    blobs += 1;
    blobNumbers.set(image, blobs);
  }
  return JSON.stringify({ ...rest, image: image ? blobNumbers.get(image) : null });
}
