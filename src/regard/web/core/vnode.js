// @ts-check
/** Descriptions of what is on the page: elements, texts and components. */

/** @import { Component, ComponentChildren, CreateElement } from "./ui_types.js" */
/** @import { Instance } from "./component.js" */

export const TEXT = "#text"; // type of a text

/** A description of an element, a text or a component; while it is on the page, also where it is. */
export class VNode {
  /**
   * @param {string | Component<any>} type
   * @param {any} props a text's props are the text
   * @param {string | number | undefined} key
   */
  constructor(type, props, key) {
    this.type = type;
    this.props = props;
    this.key = key;
    /** @type {VNode | null} */
    this.parent = null;
    this.index = 0; // among the children of its parent
    /** @type {(VNode | null)[]} */
    this.children = [];
    /** @type {any} the element or text node; null for a component */
    this.dom = null;
    /** @type {Instance | null} */
    this.instance = null;
    this.isMoving = false; // its nodes are not yet where they belong
  }
}

/** @type {CreateElement} */
export const h = (/** @type {any} */ type, /** @type {any} */ props, /** @type {any[]} */ ...children) => {
  const { key, ...rest } = props ?? {};
  if (children.length) rest.children = children.length === 1 ? children[0] : children;
  return new VNode(type, rest, key);
};

/** @param {{ children?: ComponentChildren }} props */
export function Fragment({ children }) {
  return children;
}
