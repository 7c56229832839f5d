/** Traces by their request: views never see that a trace has an id which the server may forget. */

import { codeOf } from "./errors.js";
import { shareRequests } from "./shared_request.js";

/** @import { Backend, RequestOptions, Trace } from "./backend.js" */
/** @typedef {{ model: string, text: string, target?: string }} TraceRequest without a target: of the model's own output */
/** @typedef {ReturnType<typeof createTraces>} Traces */

/**
 * The last trace is kept, since all views show the same sentence.
 * @param {Backend} data
 */
export function createTraces(data) {
  const { get, forget } = shareRequests(data.traces, { keepsLast: true });

  /**
   * What `use` makes of the trace; once more with a new trace where the server has forgotten it.
   * @template T
   * @param {TraceRequest} request
   * @param {(trace: Trace) => Promise<T>} use
   * @param {RequestOptions} [options]
   */
  const withTrace = async (request, use, options) => {
    try {
      return await use(await get(request, options));
    } catch (error) {
      if (codeOf(error) !== "trace_gone") throw error;
      forget();
      return use(await get(request, options));
    }
  };

  /**
   * @param {TraceRequest} request
   * @param {RequestOptions} [options]
   * @returns {Promise<Trace>}
   */
  const trace = (request, options) => get(request, options);
  return { get: trace, withTrace };
}
