/** One request for all who need the same answer at the same time. */

/** @import { RequestOptions } from "./backend.js" */

/**
 * The same function, but while it answers a request, the same request waits for that answer. It ends with the signal of
 * the caller that started it; another caller that waits then starts it again.
 * @template Request, Answer
 * @param {(request: Request, options?: RequestOptions) => Promise<Answer>} load
 * @param {{ kept?: number, keyOf?: (request: Request) => string }} [options] kept: so many of the last answers are kept, until `forget`
 */
export function shareRequests(load, { kept = 0, keyOf = (request) => JSON.stringify(request) } = {}) {
  /** @type {Map<string, Promise<Answer>>} the least recently used first */
  const answers = new Map();
  const drop = (/** @type {string} */ key, /** @type {Promise<Answer>} */ answer) => {
    if (answers.get(key) === answer) answers.delete(key);
  };

  /**
   * @param {Request} request
   * @param {RequestOptions} [options]
   * @returns {Promise<Answer>}
   */
  const get = async (request, options) => {
    const key = keyOf(request);
    const known = answers.get(key);
    const answer = known ?? load(request, options);
    answers.delete(key);
    answers.set(key, answer); // now the most recently used
    if (kept) for (const oldest of [...answers.keys()].slice(0, -kept)) answers.delete(oldest);
    try {
      const value = await answer;
      if (!kept) drop(key, answer);
      return value;
    } catch (error) {
      drop(key, answer);
      if (known && isAbort(error) && !options?.signal?.aborted) return get(request, options);
      throw error;
    }
  };

  return { get, forget: (/** @type {Request} */ request) => void answers.delete(keyOf(request)) };
}

/** @param {unknown} error */
function isAbort(error) {
  return error instanceof Error && error.name === "AbortError";
}
