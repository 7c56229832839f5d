/** A document for tests that render: jsdom's, installed as the globals that ui.js and Preact use. */

import { JSDOM } from "jsdom";

const { window } = new JSDOM("<!doctype html><html><body></body></html>", {
  url: "http://localhost/",
  pretendToBeVisual: true,
});
for (const name of ["window", "document", "Node", "Element", "Event", "KeyboardEvent", "MouseEvent", "HTMLElement"]) {
  globalThis[name] = name === "window" ? window : window[name];
}
globalThis.requestAnimationFrame = window.requestAnimationFrame;
globalThis.cancelAnimationFrame = window.cancelAnimationFrame;

/** Wait until renders, effects and the renders after them are done. */
export async function settle() {
  for (let round = 0; round < 3; round += 1) await new Promise((resolve) => setTimeout(resolve, 40));
}

export const newRoot = (name = "div") => document.body.appendChild(document.createElement(name));
