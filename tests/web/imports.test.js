/** Imports go one way: math < core < data < charts < components < views < entries, and views never import each other. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const WEB = fileURLToPath(new URL("../../src/regard/web/", import.meta.url));
const LAYERS = ["math", "core", "data", "charts", "components", "views", "entries"];
const IMPORT = /^(?:import|export)\b[^;]*?from\s*"([^"]+)"|\bawait import\("([^"]+)"\)/gm;
const DOM =
  /\bdocument\.create|\.innerHTML|\.append\(|\.appendChild\(|\.insertBefore\(|\.classList\b|\.setAttribute\(|\.textContent\s*=/;
const DRAWN_BY_HAND = new Set(["charts/save.js"]); // a file is made of nodes that never are on the page

const filesOf = (folder) =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesOf(path) : path.endsWith(".js") ? [path] : [];
  });
const files = filesOf(WEB).map((path) => ({ path: relative(WEB, path), text: readFileSync(path, "utf8") }));
const imports = files.flatMap(({ path, text }) =>
  [...text.matchAll(IMPORT)].map(([, now, later]) => {
    const source = now ?? later;
    return { path, target: join(dirname(path), source), source };
  }),
);
const layerOf = (path) => LAYERS.indexOf(path.split("/")[0]);

test("every file is in a layer", () => {
  for (const { path } of files) assert.ok(layerOf(path) >= 0, path);
  assert.ok(imports.length > 200);
});

test("imports go down", () => {
  for (const { path, target } of imports) {
    if (target.startsWith("locales/")) assert.equal(path, "core/i18n.js");
    else assert.ok(layerOf(target) <= layerOf(path), `${path} imports ${target}`);
  }
});

test("views never import each other", () => {
  const viewOf = (path) => (path.startsWith("views/") ? path.split("/")[1] : null);
  for (const { path, target } of imports) {
    if (viewOf(path) && viewOf(target)) assert.equal(viewOf(target), viewOf(path), `${path} imports ${target}`);
  }
});

test("nothing comes from outside", () => {
  for (const { path, source } of imports) assert.ok(source.startsWith("."), `${path} imports ${source}`);
});

test("no import cycles", () => {
  const targets = new Map(
    files.map(({ path }) => [path, imports.filter((one) => one.path === path).map((one) => one.target)]),
  );
  const visit = (path, above) => {
    assert.ok(!above.includes(path), [...above, path].join(" -> "));
    for (const target of targets.get(path) ?? []) visit(target, [...above, path]);
  };
  for (const path of ["entries/server.js", "entries/file.js", "entries/widget.js"]) visit(path, []);
});

test("every module is used by an entry", () => {
  const used = new Set();
  const visit = (path) => {
    if (used.has(path)) return;
    used.add(path);
    for (const { target } of imports.filter((one) => one.path === path)) visit(target);
  };
  for (const entry of ["server", "file", "widget"]) visit(`entries/${entry}.js`);
  assert.deepEqual(
    files.map(({ path }) => path).filter((path) => !used.has(path)),
    [],
  );
});

test("only core changes the DOM", () => {
  for (const { path, text } of files) {
    if (path.startsWith("core/") || DRAWN_BY_HAND.has(path)) continue;
    assert.doesNotMatch(text, DOM, path);
  }
});
