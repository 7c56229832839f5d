// @ts-check
/** Put descriptions on the page: match them with what is there, and change what differs. */

import { afterLayout, Instance, runLayoutEffects } from "./component.js";
import { control, namespaceOf, setRef, updateProps } from "./element.js";
import { Fragment, TEXT, VNode } from "./vnode.js";

/** @import { ComponentChildren, Props } from "./ui_types.js" */

/** @type {WeakMap<Node, VNode>} */
const roots = new WeakMap();

/**
 * Show something in an element in place of what was rendered there before; null empties it.
 * @param {ComponentChildren} content
 * @param {Element | DocumentFragment} container
 */
export function render(content, container) {
  const root = roots.get(container) ?? new VNode("#root", {}, undefined);
  root.dom = container;
  roots.set(container, root);
  reconcile(root, content, container, null);
  runLayoutEffects();
}

/**
 * Give a parent its new children: match them with those before, by key or by place; remove, add and move what differs.
 * @param {VNode} parent
 * @param {ComponentChildren} content
 * @param {any} container the element that holds the nodes
 * @param {Node | null} [before] the node that follows; searched for where it is not given
 */
function reconcile(parent, content, container, before) {
  const old = parent.children;
  const contents = Array.isArray(content) ? content : [content];
  const children = contents.map((item, index) => asVNode(item, old[index]));
  const matches = matchInPlace(old, children) ?? matchByKey(old, children);
  parent.children = children;
  const isNew = !matches.some(Boolean);
  const following = parent.dom ? null : before;
  for (let index = 0; index < children.length; index += 1) {
    const child = children[index];
    if (!child) continue;
    child.parent = parent;
    child.index = index;
    const match = matches[index];
    if (match) patch(match, child, container);
    else mount(child, container, isNew && following !== undefined ? following : nodeAfter(child));
    if (child.isMoving) moveTo(container, child);
  }
}

/**
 * @param {ComponentChildren} content
 * @param {VNode | null} [current] what is at its place
 * @returns {VNode | null}
 */
function asVNode(content, current) {
  if (content === null || content === undefined || typeof content === "boolean") return null;
  if (Array.isArray(content)) return new VNode(Fragment, { children: content }, undefined);
  if (!(content instanceof VNode)) return new VNode(TEXT, String(content), undefined);
  return content.parent && content !== current ? new VNode(content.type, content.props, content.key) : content; // used twice
}

/**
 * The old child of each new one where none has changed its place: the usual case, without any search.
 * @param {(VNode | null)[]} old
 * @param {(VNode | null)[]} children
 * @returns {(VNode | null)[] | null}
 */
function matchInPlace(old, children) {
  const count = Math.min(old.length, children.length);
  for (let index = 0; index < count; index += 1) {
    const [before, child] = [old[index], children[index]];
    if (before && child && (before.type !== child.type || before.key !== child.key)) return null;
  }
  for (let index = 0; index < old.length; index += 1) {
    const before = old[index];
    if (before && !children[index]) unmount(before, true);
  }
  return children.map((child, index) => child && adopt(old[index], child));
}

/**
 * The old child of each new one, by its key or, without one, by its type; the rest is removed.
 * @param {(VNode | null)[]} old
 * @param {(VNode | null)[]} children
 */
function matchByKey(old, children) {
  /** @type {Map<unknown, VNode[]>} */
  const candidates = new Map();
  for (const child of old) {
    if (!child) continue;
    const list = candidates.get(child.key ?? child.type);
    if (list) list.push(child);
    else candidates.set(child.key ?? child.type, [child]);
  }
  const matches = children.map((child) => {
    const list = (child && candidates.get(child.key ?? child.type)) ?? [];
    return list[0]?.type === child?.type ? (list.shift() ?? null) : null;
  });
  for (const list of candidates.values()) for (const child of list) unmount(child, true);
  for (const [index, child] of children.entries()) if (child) adopt(matches[index], child);
  markMoving(children, matches);
  return matches;
}

/**
 * Nodes and instance of a match are handed over before anything is rendered, so that nodeAfter finds them.
 * @param {VNode | null | undefined} match
 * @param {VNode} child
 */
function adopt(match, child) {
  if (!match) return null;
  child.dom = match.dom;
  child.children = match.children;
  child.instance = match.instance;
  return match;
}

/**
 * Mark the children whose nodes must move: those outside the longest run that is still in order.
 * @param {(VNode | null)[]} children
 * @param {(VNode | null)[]} matches
 */
function markMoving(children, matches) {
  const order = matches.flatMap((match, index) => (match ? [{ index, from: match.index }] : []));
  if (order.every(({ from }, at) => at === 0 || order[at - 1].from < from)) return;
  /** @type {{ index: number, from: number, previous: any }[]} ends of the best runs of each length */
  const ends = [];
  for (const { index, from } of order) {
    let length = ends.findIndex((end) => end.from >= from);
    if (length < 0) length = ends.length;
    ends[length] = { index, from, previous: ends[length - 1] };
  }
  const staying = new Set();
  for (let end = ends.at(-1); end; end = end.previous) staying.add(end.index);
  for (const { index } of order) if (!staying.has(index)) /** @type {VNode} */ (children[index]).isMoving = true;
}

/**
 * The node that follows all nodes of a vnode in its element.
 * @param {VNode} vnode
 * @returns {Node | null}
 */
function nodeAfter(vnode) {
  const { parent } = vnode;
  if (!parent) return null;
  for (let index = vnode.index + 1; index < parent.children.length; index += 1) {
    const sibling = parent.children[index];
    const node = sibling && !sibling.isMoving ? firstNode(sibling) : null;
    if (node) return node;
  }
  return parent.dom ? null : nodeAfter(parent);
}

/**
 * @param {VNode} vnode
 * @returns {Node | null}
 */
function firstNode(vnode) {
  if (vnode.dom) return vnode.dom;
  for (const child of vnode.children) {
    const node = child && !child.isMoving && firstNode(child);
    if (node) return node;
  }
  return null;
}

/**
 * @param {any} container
 * @param {VNode} child
 */
function moveTo(container, child) {
  child.isMoving = false;
  const next = nodeAfter(child);
  for (const node of nodesOf(child)) container.insertBefore(node, next);
}

/**
 * @param {VNode} vnode
 * @returns {Node[]}
 */
function nodesOf(vnode) {
  return vnode.dom ? [vnode.dom] : vnode.children.flatMap((child) => (child ? nodesOf(child) : []));
}

/**
 * @param {VNode} vnode
 * @param {any} container
 * @param {Node | null} before
 */
function mount(vnode, container, before) {
  const { type, props } = vnode;
  if (typeof type === "function") {
    vnode.instance = type === Fragment ? null : new Instance(vnode, rerender);
    reconcile(vnode, contentOf(vnode), container, before);
    if (vnode.instance) vnode.instance.collectEffects();
    return;
  }
  if (type === TEXT) vnode.dom = document.createTextNode(props);
  else {
    vnode.dom = document.createElementNS(namespaceOf(type, container), type);
    updateElement(vnode, {});
  }
  container.insertBefore(vnode.dom, before);
}

/**
 * @param {VNode} old
 * @param {VNode} vnode what takes its place; it has its nodes and its instance already
 * @param {any} container
 */
function patch(old, vnode, container) {
  if (old === vnode && !vnode.instance?.isStale) return;
  const { type, props } = vnode;
  if (type === TEXT) {
    if (old.props !== props) vnode.dom.data = props;
  } else if (type === Fragment) reconcile(vnode, props.children, container);
  else if (typeof type === "function") {
    const instance = /** @type {Instance} */ (vnode.instance);
    instance.vnode = vnode;
    for (const child of vnode.children) if (child) child.parent = vnode;
    if (instance.isStale || !isShallowEqual(old.props, props)) rerender(instance, container);
  } else updateElement(vnode, old.props);
}

/**
 * @param {VNode} vnode
 * @param {boolean} isTop whether its nodes leave the page by themselves, not within a parent's
 */
function unmount(vnode, isTop) {
  vnode.instance?.end();
  setRef(vnode.props.ref, null);
  for (const child of vnode.children) if (child) unmount(child, isTop && !vnode.dom);
  if (isTop) vnode.dom?.remove();
  [vnode.parent, vnode.dom, vnode.instance, vnode.children] = [null, null, null, []]; // it may be shown again
}

/**
 * @param {VNode} vnode
 * @param {Props} old
 */
function updateElement(vnode, old) {
  const { dom, props } = vnode;
  updateProps(dom, props, old);
  if (vnode.children.length || props.children !== undefined) {
    reconcile(vnode, props.children, dom, null);
  }
  control(dom, props); // last: a list has to have its options, a slider its ends
  if (old.ref !== props.ref) {
    setRef(old.ref, null);
    afterLayout(() => setRef(props.ref, dom));
  }
}

/**
 * @param {Props} a
 * @param {Props} b
 */
function isShallowEqual(a, b) {
  for (const name in a) if (a[name] !== b[name]) return false;
  for (const name in b) if (!(name in a)) return false;
  return true;
}

/** @param {VNode} vnode */
function contentOf(vnode) {
  return vnode.instance ? vnode.instance.content() : vnode.props.children;
}

/**
 * @param {Instance} instance
 * @param {any} container
 */
function rerender(instance, container) {
  reconcile(instance.vnode, instance.content(), container);
  instance.collectEffects();
}
