/** Rules for all modules. Imports go one way: math < core < data < charts < components < views < page < entries, and views never import each other. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const WEB = fileURLToPath(new URL("../../src/regard/web/", import.meta.url));
const TESTS = fileURLToPath(new URL(".", import.meta.url));
const LAYERS = ["math", "core", "data", "charts", "components", "views", "page", "entries"];
const IMPORT = /^(?:import|export)\b[^;]*?from\s*"([^"]+)"|\bawait import\("([^"]+)"\)/gm;
const DOM =
  /\bdocument\.create|\.innerHTML|\.append\(|\.appendChild\(|\.insertBefore\(|\.classList\b|\.setAttribute\(|\.textContent\s*=|\.(dataset|style)\.\w+\s*=[^=]|\.className\s*=/;
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
const withoutComments = (text) => text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "$1");
const names = (text, name) => new RegExp(`\\b${name}\\b`).test(text);
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

test("data knows nothing of the page's state", () => {
  for (const { path, target } of imports) {
    if (path.startsWith("data/")) assert.notEqual(target, "core/store.js", path);
  }
});

test("no module looks through the document, which may hold other widgets", () => {
  const ENTRIES = ["entries/server.js", "entries/file.js"]; // they own the document
  for (const { path, text } of files) {
    if (!ENTRIES.includes(path)) assert.doesNotMatch(text, /\bdocument\.(getElement|querySelector)/, path);
  }
});

test("elements refer to each other by ids that no other widget has", () => {
  const FIXED_ID = /(?:"aria-(?:labelledby|describedby|controls|owns)"|"?\b(?:for|htmlFor)"?):\s*["`]/;
  const IN_FORMS = "components/sentence_form.js"; // a notebook has no forms
  for (const { path, text } of files) if (path !== IN_FORMS) assert.doesNotMatch(text, FIXED_ID, path);
});

test("what many modules need is written once", () => {
  const ONCE = {
    "Noto Sans KR": ["charts/text_width.js"],
    '"heads.head"': ["components/attention_names.js"],
    '"heads.mean_of_heads"': ["components/attention_names.js"],
    '"language.temperature"': ["components/next_tokens.js"],
    // Everything else that a view requests is a query, which ends with the view; these are several requests in one.
    "new AbortController": [
      "components/image_picker.js",
      "core/query.js",
      "core/store.js",
      "data/probe_maps.js",
      "data/shared_request.js",
      "views/compare/compare.js",
      "views/heads/heads.js",
      "views/pictures/pictures.js",
      "views/training/training.js",
    ],
  };
  for (const [text, expected] of Object.entries(ONCE)) {
    const found = files.filter((file) => file.text.includes(text)).map(({ path }) => path);
    assert.deepEqual(found.sort(), expected, text);
  }
});

test("every export is used by another module or by a test", () => {
  const tests = readdirSync(TESTS).filter((name) => name.endsWith(".js"));
  const texts = [...files, ...tests.map((path) => ({ path, text: readFileSync(join(TESTS, path), "utf8") }))];
  for (const { path, text } of files) {
    for (const [, name] of text.matchAll(/^export (?:async )?(?:function\*?|const|class) (\w+)/gm)) {
      const isUsed = texts.some((other) => other.path !== path && names(other.text, name));
      assert.ok(isUsed, `${path} exports ${name}`);
    }
  }
});

test("every option is given by somebody", () => {
  const OPTION = /(\w+)\?:|@(?:property \{.*\} \[|param \{.*\} \[\w+\.)(\w+)\]/g;
  const isGiven = (path, name) =>
    files.some(({ path: other, text }) =>
      other === path
        ? new RegExp(`\\b${name}:|\\.${name} =|^ +${name},$`, "m").test(withoutComments(text))
        : names(withoutComments(text), name),
    );
  for (const { path, text } of files) {
    const comments = [...text.matchAll(/\/\*\*[\s\S]*?\*\//g)].join("\n");
    for (const [, field, argument] of comments.matchAll(OPTION)) {
      const name = field ?? argument;
      assert.ok(isGiven(path, name), `${path} takes ${name}`);
    }
  }
});
