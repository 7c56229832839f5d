/** Captions of images: a stream of partial captions that ends with the complete one, which can be read like a trace. */

/** @import { Backend, Caption, CaptionRequest, RequestOptions } from "./backend.js" */

/**
 * @param {Backend} data
 * @param {CaptionRequest} request
 * @param {RequestOptions} [options]
 * @returns {Promise<Caption>}
 */
export async function completeCaption(data, request, options) {
  for await (const event of data.caption(request, options)) if (event.event === "done") return event;
  throw new Error("the stream of the caption ended before the caption did");
}

/**
 * The caption of one request; captioned again where the server has forgotten its trace.
 * @param {Backend} data
 * @param {CaptionRequest} request
 * @param {RequestOptions} options they hold for all requests
 */
export function captionTrace(data, request, options) {
  let caption = completeCaption(data, request, options);
  return {
    get: () => caption,
    /**
     * @template T
     * @param {(trace: Caption) => Promise<T>} use
     * @returns {Promise<T>}
     */
    async withTrace(use) {
      const first = caption;
      try {
        return await use(await first);
      } catch (error) {
        if (!isTraceGone(error)) throw error;
        if (caption === first) caption = completeCaption(data, request, options);
        return use(await caption);
      }
    },
  };
}

/** @param {unknown} error */
export function isTraceGone(error) {
  return /** @type {{ code?: string } | null} */ (error)?.code === "trace_gone";
}
