import assert from "node:assert/strict";
import test from "node:test";
import { newRoot, settle } from "./dom.js";

globalThis.ResizeObserver = class {
  observe() {}
  disconnect() {}
};
const { h, render } = await import("../../src/regard/web/core/ui.js");
const { language } = await import("../../src/regard/web/core/i18n.js");
const { Outputs } = await import("../../src/regard/web/views/start/parts.js");

test("an empty output is named, one that loads is not", async () => {
  language.value = "en";
  const root = newRoot();
  const rows = ["", null, "un chien"].map((data, index) => ({ name: `model ${index}`, query: { data, error: null } }));
  render(h(Outputs, { rows }), root);
  await settle();
  const shown = [...root.querySelectorAll("dd")].map(({ textContent }) => textContent);
  assert.deepEqual(shown, ["(no output)", "One moment …", "un chien"]);
});
