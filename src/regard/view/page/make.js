/** Building elements. Whatever text is given becomes a text node, so nothing that a user or a model wrote is ever read as markup. */

const NAMESPACES = {
  svg: "http://www.w3.org/2000/svg",
  math: "http://www.w3.org/1998/Math/MathML",
};

/** An HTML element: `h("button", { class: "plain", onclick: act, disabled: true }, "Go")`. */
export function h(tag, attributes, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

/** An SVG element, likewise. */
export function svg(tag, attributes, ...children) {
  return furnish(document.createElementNS(NAMESPACES.svg, tag), attributes, children);
}

/** A MathML element, likewise. */
export function math(tag, attributes, ...children) {
  return furnish(document.createElementNS(NAMESPACES.math, tag), attributes, children);
}

/** Take all children out of a node, and put others in. */
export function clear(node, ...children) {
  node.replaceChildren();
  addChildren(node, children);
  return node;
}

/** Add nodes and texts; null, undefined and false are left out, lists are opened. */
export function addChildren(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

function furnish(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) setAttribute(element, name, value);
  addChildren(element, children);
  return element;
}

/** A function under on<event> listens; `style` is a table, since style attributes are forbidden; true is an empty attribute. */
function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) {
    if (typeof value !== "function") throw new TypeError(`${name} must be a function`);
    element.addEventListener(name.slice(2), value);
  } else if (name === "style") {
    for (const [property, given] of Object.entries(value)) element.style.setProperty(property, given);
  } else if (name === "value" || name === "checked" || name === "selected" || name === "indeterminate") {
    element[name] = value;
  } else {
    element.setAttribute(name, value === true ? "" : String(value));
  }
}
