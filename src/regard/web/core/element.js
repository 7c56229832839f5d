// @ts-check
/** Attributes, styles, listeners and values of an element. */

/** @import { Props } from "./ui_types.js" */

const NAMESPACES = {
  html: "http://www.w3.org/1999/xhtml",
  svg: "http://www.w3.org/2000/svg",
  math: "http://www.w3.org/1998/Math/MathML",
};
const CONTROLLED = new Set(["INPUT", "TEXTAREA", "SELECT"]); // elements whose value the reader changes
const ENUMERATED = new Set(["spellcheck", "draggable", "contenteditable"]); // "false" has a meaning of its own

/**
 * @param {string} type
 * @param {Element} container
 */
export function namespaceOf(type, container) {
  if (type === "svg") return NAMESPACES.svg;
  if (type === "math") return NAMESPACES.math;
  return container.localName === "foreignObject" ? NAMESPACES.html : (container.namespaceURI ?? NAMESPACES.html);
}

/**
 * @param {any} dom
 * @param {Props} props
 * @param {Props} old
 */
export function updateProps(dom, props, old) {
  for (const name in old) if (!(name in props)) setProp(dom, name, undefined, old[name]);
  for (const name in props) if (props[name] !== old[name]) setProp(dom, name, props[name], old[name]);
}

/**
 * What the reader may have changed is compared with the element: setting the same text would end a composition.
 * @param {any} dom
 * @param {Props} props
 */
export function control(dom, { value, checked }) {
  if (!CONTROLLED.has(dom.tagName)) return;
  if (value !== undefined && value !== null && dom.value !== String(value)) dom.value = value;
  if (checked !== undefined && dom.checked !== Boolean(checked)) dom.checked = Boolean(checked);
}

/**
 * @param {any} dom
 * @param {string} name
 * @param {any} value
 * @param {any} old
 */
function setProp(dom, name, value, old) {
  if (name === "children" || name === "ref") return;
  if (name === "style") setStyle(dom.style, value ?? {}, old ?? {});
  else if (name.startsWith("on") && (typeof value === "function" || typeof old === "function"))
    setListener(dom, name, value);
  else if ((name === "value" || name === "checked") && CONTROLLED.has(dom.tagName)) return;
  else if (value === undefined || value === null || (value === false && !isWrittenFalse(name)))
    dom.removeAttribute(name);
  else dom.setAttribute(name, value === true && !isWrittenFalse(name) ? "" : value);
}

/** @param {string} name */
function isWrittenFalse(name) {
  return name[4] === "-" || ENUMERATED.has(name); // aria- and data-
}

/**
 * Through the CSSOM, which a content security policy without inline styles allows.
 * @param {any} style a CSSStyleDeclaration
 * @param {Record<string, string>} value
 * @param {Record<string, string>} old
 */
function setStyle(style, value, old) {
  for (const name of new Set([...Object.keys(old), ...Object.keys(value)])) {
    if (value[name] === old[name]) continue;
    if (name.includes("-")) style.setProperty(name, value[name] ?? "");
    else style[name] = value[name] ?? "";
  }
}

/**
 * @param {any} dom
 * @param {string} name such as onClick
 * @param {((event: Event) => void) | undefined} listener
 */
function setListener(dom, name, listener) {
  const type = name.slice(2).toLowerCase();
  dom._listeners ??= {};
  if (listener && !dom._listeners[type]) dom.addEventListener(type, callListener);
  if (!listener) dom.removeEventListener(type, callListener);
  dom._listeners[type] = listener;
}

/**
 * @this {any}
 * @param {Event} event
 */
function callListener(event) {
  this._listeners[event.type]?.call(this, event);
}

/**
 * @param {any} ref
 * @param {any} element
 */
export function setRef(ref, element) {
  if (typeof ref === "function") ref(element);
  else if (ref) ref.current = element;
}
