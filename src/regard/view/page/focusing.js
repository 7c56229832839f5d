/** Keeping the keyboard's focus in a part of the page that is built anew. */

const FOCUSABLE = "input, select, button";

/** What is built anew keeps the focus where it was: on the element of the same `data-focus`, else on the one at the same place. */
export function keepingFocus(node, build) {
  const focused = node.contains(document.activeElement) ? document.activeElement : null;
  const [name, at] = [focused?.dataset.focus, focused ? [...node.querySelectorAll(FOCUSABLE)].indexOf(focused) : -1];
  build();
  if (!focused) return;
  const same = name ? node.querySelector(`[data-focus="${name}"]`) : [...node.querySelectorAll(FOCUSABLE)][at];
  same?.focus({ preventScroll: true });
}
