// @ts-check
/** The part of the address after #: "#heads?model=small&text=a+dog&use=cross". Everything that a link must restore is in it. */

/** @typedef {import("./params.js").UrlState} UrlState */

/**
 * @param {string} hash
 * @returns {UrlState}
 */
export function parseHash(hash) {
  const [, view, query] = /** @type {RegExpExecArray} */ (/^#?([^?]*)\??(.*)$/s.exec(hash));
  return { view, ...Object.fromEntries(new URLSearchParams(query)) };
}

/** @param {UrlState} state */
export function formatHash({ view = "", ...rest }) {
  const query = new URLSearchParams(Object.entries(rest).filter(([, value]) => value));
  return `#${view}${query.size ? `?${query}` : ""}`;
}
