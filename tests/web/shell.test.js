/** Views that are loaded later: their links agree with them, and a module that does not load is reported. */

import assert from "node:assert/strict";
import test from "node:test";
import { backendOf, openView } from "./opened_view.js";

globalThis.ImageData = class {};
window.Element.prototype.scrollIntoView = () => {}; // jsdom lays nothing out
const { LazyView } = await import("../../src/regard/web/components/lazy_view.js");
const { h } = await import("../../src/regard/web/core/ui.js");
const { Shell } = await import("../../src/regard/web/components/shell.js");
const { VIEWS } = await import("../../src/regard/web/entries/more_views.js");
const { VIEW_LINKS } = await import("../../src/regard/web/page/view_links.js");

const Here = () => h("p", null, "here");
let opened; // what loads the view
const Later = ({ store }) => h(LazyView, { store, load: opened });
const FRAMED = ["a", "b"].map((id) => ({ id, title: "inside.title", View: Here }));
const Framed = ({ store }) => h(Shell, { store, views: FRAMED });
const open = (load) => {
  opened = load;
  return openView({ id: "a", View: Later }, backendOf({ models: () => ({ models: [] }) }));
};

test("links are those of the views", () => {
  assert.deepEqual(
    VIEW_LINKS,
    VIEWS.map(({ View: _, ...link }) => link),
  );
});

test("a view appears once its module is loaded", async () => {
  let loads = 0;
  const load = async () => {
    loads += 1;
    return Here;
  };
  for (let visit = 0; visit < 2; visit += 1) {
    const page = await open(load);
    assert.equal(page.root.textContent, "here");
    page.leave();
  }
  assert.equal(loads, 1);
});

test("a missing module is reported and loaded again at the next visit", async () => {
  let isThere = false;
  const load = async () => {
    if (!isThere) throw new TypeError("Failed to fetch");
    return Here;
  };
  const first = await open(load);
  assert.match(first.find("[role=alert]").textContent, /Reload the page/);
  first.leave();
  isThere = true;
  const second = await open(load);
  assert.equal(second.root.textContent, "here");
  second.leave();
});

test("arrow keys on a link to a view open nothing", async () => {
  const data = backendOf({ models: () => ({ models: [] }) });
  const page = await openView({ id: "a", View: Framed }, data);
  const links = [...page.root.querySelectorAll(".views a")];
  assert.deepEqual(
    links.map((link) => [link.getAttribute("role"), link.getAttribute("href")]),
    [
      [null, "#a"],
      [null, "#b"],
    ],
  );
  const requests = data.log.length;
  links[0].focus();
  for (const key of ["ArrowRight", "ArrowDown", "End"])
    links[0].dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  assert.equal(document.activeElement, links[0]);
  assert.equal(page.store.url.value.view, "a");
  assert.equal(data.log.length, requests);
  links[1].click();
  assert.equal(page.store.url.value.view, "b");
  page.leave();
});
