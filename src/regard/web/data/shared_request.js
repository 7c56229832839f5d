/** One request for all who need the same answer at the same time. */

/** @import { RequestOptions } from "./backend.js" */

/**
 * The same function, but while it answers a request, the same request waits for that answer. It ends with the signal of
 * the one who began it; whoever else waits then begins it again.
 * @template Request, Answer
 * @param {(request: Request, options?: RequestOptions) => Promise<Answer>} load
 * @param {{ keepsLast?: boolean }} [options] keepsLast: the last answer is kept, until `forget` or another request
 */
export function shareRequests(load, { keepsLast = false } = {}) {
  let last = /** @type {{ key: string, answer: Promise<Answer> } | null} */ (null);
  const forget = (/** @type {typeof last} */ entry) => {
    if (last === entry) last = null;
  };

  /**
   * @param {Request} request
   * @param {RequestOptions} [options]
   * @returns {Promise<Answer>}
   */
  const get = async (request, options) => {
    const key = JSON.stringify(request);
    const isJoined = last?.key === key;
    if (last?.key !== key) last = { key, answer: load(request, options) };
    const entry = last;
    try {
      const answer = await entry.answer;
      if (!keepsLast) forget(entry);
      return answer;
    } catch (error) {
      forget(entry);
      if (isJoined && isAbort(error) && !options?.signal?.aborted) return get(request, options);
      throw error;
    }
  };

  return { get, forget: () => forget(last) };
}

/** @param {unknown} error */
function isAbort(error) {
  return error instanceof Error && error.name === "AbortError";
}
