/** The style sheets: for paper, forced colours, contrast and less motion, too, and for nothing that no module draws. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const WEB = fileURLToPath(new URL("../../src/regard/web", import.meta.url));
const textsOf = (folder, ending) =>
  readdirSync(join(WEB, folder), { recursive: true })
    .filter((name) => ending.test(name))
    .map((name) => readFileSync(join(WEB, folder, name), "utf-8"));
const styles = textsOf("styles", /\.css$/).map((text) => text.replace(/\/\*[\s\S]*?\*\//g, ""));
const sources = textsOf("", /\.(js|html)$/).join("\n");

/** The rules below a media query, of all style sheets. */
function rulesOf(query) {
  const parts = styles.flatMap((style) => style.split(`@media ${query} {`).slice(1));
  return parts.map(untilClosed).join("\n");
}

/** A text up to the brace that closes what was open before it. */
function untilClosed(text) {
  let depth = 1;
  const end = [...text].findIndex((sign) => {
    depth += { "{": 1, "}": -1 }[sign] ?? 0;
    return depth === 0;
  });
  return text.slice(0, end);
}

test("there are rules for paper, forced colours, more contrast and less motion", () => {
  assert.match(rulesOf("print"), /\.views[^}]*\{\s*display: none/);
  assert.match(
    rulesOf("(forced-colors: active)"),
    /\.segments button\[aria-pressed="true"\][^}]*\{\s*outline: [^;]*Highlight/,
  );
  assert.match(rulesOf("(prefers-contrast: more)"), /--line: #/);
  assert.match(rulesOf("(prefers-reduced-motion: reduce)"), /animation: none/);
});

test("every class of a style sheet is drawn by some module", () => {
  const classes = new Set(styles.flatMap((style) => [...style.matchAll(/\.([a-z][\w-]*)/g)].map(([, name]) => name)));
  assert.ok(classes.size > 200);
  const isDrawn = (name) => {
    const beginning = name.slice(0, name.lastIndexOf("-") + 1); // the end may be put in: `theme-${theme}`
    return (
      new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(sources) || (beginning && sources.includes(`${beginning}\${`))
    );
  };
  assert.deepEqual(
    [...classes].filter((name) => !isDrawn(name)),
    [],
  );
});
