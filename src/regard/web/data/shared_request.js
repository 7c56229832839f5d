/** One request for all who need the same answer at the same time. */

/** @import { RequestOptions } from "./backend.js" */

/**
 * @template Answer
 * @typedef {{ answer: Promise<Answer>, controller: AbortController, waiting: number, answered?: Answer }} Shared waiting: so many callers
 */

/**
 * The same function, but while it answers a request, the same request waits for that answer. It is aborted when no
 * caller waits for it any more: a view that leaves one choice for another keeps what both need.
 * @template Request, Answer
 * @param {(request: Request, options?: RequestOptions) => Promise<Answer>} load
 * @param {{ kept?: number, keyOf?: (request: Request) => string }} [options] kept: so many of the last answers are kept, until `forget`
 */
export function shareRequests(load, { kept = 0, keyOf = (request) => JSON.stringify(request) } = {}) {
  /** @type {Map<string, Shared<Answer>>} the least recently used first */
  const requests = new Map();
  const drop = (/** @type {string} */ key, /** @type {Shared<Answer>} */ shared) => {
    if (requests.get(key) === shared) requests.delete(key);
  };

  /**
   * @param {Request} request
   * @returns {Shared<Answer>}
   */
  const start = (request) => {
    const controller = new AbortController();
    return { answer: load(request, { signal: controller.signal }), controller, waiting: 0 };
  };

  /**
   * @param {Request} request
   * @param {RequestOptions} [options]
   * @returns {Promise<Answer>}
   */
  const get = async (request, { signal } = {}) => {
    signal?.throwIfAborted();
    const key = keyOf(request);
    const shared = requests.get(key) ?? start(request);
    requests.delete(key);
    requests.set(key, shared); // now the most recently used
    if (kept) for (const oldest of [...requests.keys()].slice(0, -kept)) requests.delete(oldest);

    let leave = () => {};
    /** @type {Promise<never>} */
    const left = new Promise((_, reject) => {
      leave = () => {
        reject(signal?.reason);
        shared.waiting -= 1;
        // Not at once: the next caller may be the same view with another choice.
        queueMicrotask(() => {
          if (shared.waiting) return;
          drop(key, shared);
          shared.controller.abort();
        });
      };
    });
    shared.waiting += 1;
    signal?.addEventListener("abort", leave, { once: true });
    try {
      const answer = await Promise.race([shared.answer, left]);
      shared.answered = answer;
      if (!kept) drop(key, shared);
      return answer;
    } catch (error) {
      if (!signal?.aborted) drop(key, shared);
      throw error;
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  };

  /**
   * Forget an answer that is of no use any more; a newer one to the same request stays.
   * @param {Request} request
   * @param {Answer} answer
   */
  const forget = (request, answer) => {
    const key = keyOf(request);
    if (requests.get(key)?.answered === answer) requests.delete(key);
  };

  return { get, forget };
}
