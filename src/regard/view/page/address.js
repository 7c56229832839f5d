/** What stands after the # of the page's address: the view, the model and the sentence, so that a reload, Back or a link brings them back. */

/** "#heads?model=small&text=a+dog" as {view, model, text}; null is what it does not say. */
export function readAddress(hash) {
  const [, view, query] = /^#?([^?]*)\??(.*)$/s.exec(hash);
  const said = new URLSearchParams(query);
  return { view, model: said.get("model"), text: said.get("text") };
}

/** The same way back; what is not known is left out. */
export function addressOf({ view, ...known }) {
  const said = new URLSearchParams(Object.entries(known).filter(([, value]) => value));
  return `#${view}${said.size ? `?${said}` : ""}`;
}
