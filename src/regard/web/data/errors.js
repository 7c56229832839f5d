// @ts-check
/** Errors that a backend explains by a code. */

/** The request could not be answered; `code` selects the message (problem.CODE in locales). */
export class ApiError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {number} [status] of HTTP
   */
  constructor(code, message, status = 0) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/**
 * Whether the server no longer has the trace that was asked for.
 * @param {unknown} error
 */
export function isTraceGone(error) {
  return /** @type {{ code?: string } | null} */ (error)?.code === "trace_gone";
}
