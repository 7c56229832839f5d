// biome-ignore-all lint/correctness/noComponentHookFactories: a scenario makes its components of the library that it is given
// biome-ignore-all lint/suspicious/noAssignInExpressions: a step is one assignment
/** The same components, rendered by core/ui.js and by Preact with @preact/signals, give the same DOM after each step. */

import "./dom.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import * as signals from "@preact/signals";
import * as preact from "preact";
import * as hooks from "preact/hooks";
import * as ours from "../../src/regard/web/core/ui.js";
import { newRoot, settle } from "./dom.js";

const theirs = { ...preact, ...hooks, ...signals };

/** Run a scenario with both; it returns the steps after which the DOM is compared. */
async function compare(scenario, container = "div") {
  const roots = [newRoot(container), newRoot(container)];
  const runs = [scenario(ours, roots[0]), scenario(theirs, roots[1])];
  for (let step = 0; step < runs[0].length; step += 1) {
    for (const run of runs) run[step]();
    await settle();
    assert.equal(roots[0].outerHTML, roots[1].outerHTML, `step ${step}`);
    const namespaces = roots.map((root) => [...root.querySelectorAll("*")].map((node) => node.namespaceURI).join());
    assert.equal(namespaces[0], namespaces[1], `namespaces in step ${step}`);
  }
  const html = roots[0].innerHTML;
  for (const root of roots) root.remove();
  return html;
}

/** Render one description after another. */
const inTurn = (make) => (ui, root) => make(ui).map((content) => () => ui.render(content, root));

test("attributes, booleans, aria and data", async () => {
  const html = await compare(
    inTurn(({ h }) => [
      h(
        "p",
        { class: "a", hidden: true, "aria-pressed": false, "data-x": 0, "data-y": null },
        "one ",
        2,
        null,
        false,
        true,
      ),
      h("p", { class: "b", hidden: false, "aria-pressed": true, "data-y": "t" }, "one ", 3),
      h("p", null, "none"),
      h("button", { type: "button", disabled: true, tabindex: -1 }, h("b", null, "x")),
      null,
    ]),
  );
  assert.equal(html, "");
});

test("children of SVG and MathML, and HTML within SVG", async () => {
  await compare(
    inTurn(({ h }) => [
      h(
        "svg",
        { viewBox: "0 0 1 1" },
        h("g", null, h("path", { d: "M0 0" })),
        h("foreignObject", null, h("p", null, "html")),
      ),
      h("math", { display: "block" }, h("mfrac", null, h("mi", null, "x"), h("mn", null, 2)), h("mo", null, "=")),
    ]),
  );
});

test("keyed children keep their nodes when they move", async () => {
  const orders = ["abcdef", "fabcde", "bcdefa", "fedcba", "ace", "xaybzc", "", "cab", "cabdefghij", "jihgfabc"];
  await compare(
    inTurn(({ h }) =>
      orders.map((order) =>
        h(
          "ul",
          null,
          [...order].map((key) => h("li", { key }, key)),
        ),
      ),
    ),
  );
  const root = newRoot();
  const show = (order) =>
    ours.render(
      ours.h(
        "ul",
        null,
        [...order].map((key) => ours.h("li", { key }, key)),
      ),
      root,
    );
  show("abcd");
  const nodes = Object.fromEntries([...root.firstChild.children].map((node) => [node.textContent, node]));
  show("dbxca");
  for (const node of root.firstChild.children)
    if (node.textContent !== "x") assert.equal(node, nodes[node.textContent]);
});

test("any two random lists of keyed, unkeyed and empty children", async () => {
  let seed = 7;
  const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
  const lists = Array.from({ length: 60 }, () => Array.from({ length: random(9) }, () => [random(5), random(12)]));
  const make = ({ h, Fragment }) => {
    const Item = ({ name }) => [h("b", null, name), h("i", null, name)];
    const child = ([kind, key]) =>
      [
        null,
        h(Item, { key, name: key }),
        `text ${key}`,
        h("u", null, key),
        h(Fragment, { key }, key, h("s", null, key)),
      ][kind];
    const unique = (list) =>
      list.filter(
        ([kind, key], at) =>
          ![1, 4].includes(kind) || list.findIndex((x) => [1, 4].includes(x[0]) && x[1] === key) === at,
      );
    return lists.map((list) => h("div", null, h("hr", null), unique(list).map(child), h("hr", null)));
  };
  await compare(inTurn(make));
});

test("state, effects and their order", async () => {
  const logs = [];
  await compare((ui, root) => {
    const { h, render, useEffect, useLayoutEffect, useState } = ui;
    const log = [];
    logs.push(log);
    let setCount;
    const Child = ({ name, count }) => {
      useEffect(() => {
        log.push(`${name} begins ${count}`);
        return () => log.push(`${name} ends ${count}`);
      }, [count > 1]);
      useLayoutEffect(() => void log.push(`${name} laid out`), []);
      return h("i", null, name, count);
    };
    const Parent = () => {
      const [count, set] = useState(0);
      setCount = set;
      useEffect(() => void log.push(`parent ${count}`));
      return h("div", null, h(Child, { name: "a", count }), count < 3 && h(Child, { name: "b", count }));
    };
    return [
      () => render(h(Parent, null), root),
      () => setCount(1),
      () => setCount((count) => count + 1),
      () => {
        setCount(3);
        setCount(3);
      },
      () => render(null, root),
    ];
  });
  assert.deepEqual(logs[0], logs[1]);
});

test("signals render the components that read them, and no others", async () => {
  const counts = [];
  await compare((ui, root) => {
    const { batch, computed, h, render, signal, useSignal } = ui;
    const [left, right] = [signal(1), signal(1)];
    const sum = computed(() => left.value + right.value);
    const isLarge = computed(() => sum.value > 10);
    const count = { parent: 0, sum: 0, large: 0 };
    counts.push(count);
    let own;
    const Sum = () => {
      count.sum += 1;
      own = useSignal("own");
      return h("b", null, sum.value, own.value);
    };
    const Large = () => {
      count.large += 1;
      return h("i", null, String(isLarge.value));
    };
    const Parent = () => {
      count.parent += 1;
      return h("p", null, h(Sum, null), h(Large, null));
    };
    return [
      () => render(h(Parent, null), root),
      () => (left.value = 2),
      () =>
        batch(() => {
          left.value = 6;
          right.value = 6;
        }),
      () => (own.value = "changed"),
      () => {
        left.value = 5;
        right.value = 7;
      },
    ];
  });
  assert.ok(counts[0].sum <= counts[1].sum, "a value that comes out the same renders nothing");
  assert.equal(counts[0].parent, 1);
  assert.equal(counts[0].large, 2);
});

test("controlled inputs: text, list, checkbox, slider", async () => {
  const values = [];
  await compare((ui, root) => {
    const { h, render } = ui;
    const form = (text, chosen, options, isOn, at) =>
      h(
        "form",
        null,
        h("textarea", { value: text }),
        h(
          "select",
          { value: chosen },
          options.map((value) => h("option", { key: value, value }, `label ${value}`)),
        ),
        h("input", { type: "checkbox", checked: isOn }),
        h("input", { type: "range", min: 0, max: 500, value: at }),
      );
    const read = () =>
      values.push([...root.querySelectorAll("textarea,select,input")].map((x) => [x.value, x.checked]).join());
    return [
      () => render(form("a", "x", ["x", "y"], true, 300), root),
      read,
      () => (root.querySelector("textarea").value = "typed"),
      () => render(form("b", "y", ["x", "y"], false, 0), root),
      read,
      () => render(form("b", "y", ["z", "y", "x"], false, 500), root),
      read,
    ];
  });
  for (let at = 0; at < values.length; at += 2) assert.equal(values[at], values[at + 1]);
});

test("listeners: called with the event, replaced, removed", async () => {
  const logs = [];
  await compare((ui, root) => {
    const { h, render } = ui;
    const log = [];
    logs.push(log);
    const button = (onClick) => h("button", { onClick }, "b");
    const click = () => root.firstChild.click();
    return [
      () =>
        render(
          button((event) => log.push(`first ${event.type}`)),
          root,
        ),
      click,
      () =>
        render(
          button(() => log.push("second")),
          root,
        ),
      click,
      () => render(button(null), root),
      click,
    ];
  });
  assert.deepEqual(logs[0], ["first click", "second"]);
  assert.deepEqual(logs[0], logs[1]);
});

test("refs, memoised children and styles", async () => {
  await compare((ui, root) => {
    const { h, render, useMemo, useRef, useLayoutEffect, useState } = ui;
    let redraw;
    const Box = () => {
      const ref = useRef(null);
      const [count, set] = useState(0);
      redraw = set;
      const fixed = useMemo(() => h("em", null, "drawn once"), []);
      useLayoutEffect(() => ref.current.setAttribute("data-count", count), [count]);
      return h(
        "div",
        { ref, style: count ? { color: "red", "max-width": "3px" } : { width: "2px" } },
        count % 2 ? fixed : null,
        h("b", null, count),
        fixed,
      );
    };
    return [() => render(h(Box, null), root), () => redraw(1), () => redraw(2), () => redraw(3)];
  });
});

test("a component may return nothing, text, or other elements than before", async () => {
  await compare((ui, root) => {
    const { h, render, signal, Fragment } = ui;
    const mode = signal(0);
    const Shape = () =>
      [null, "text", h("p", null, "p"), [h("a", null, 1), h("b", null, 2)], h(Fragment, null, "x", h("i", null))][
        mode.value
      ];
    const page = h("div", null, "before", h(Shape, null), h("hr", null), h(Shape, null), "after");
    return [() => render(page, root), ...[1, 2, 3, 4, 0, 3, 1, 4, 2].map((next) => () => (mode.value = next))];
  });
});

test("what has left the page is not notified any more", async () => {
  const { computed, h, render, signal } = ours;
  const source = signal(0);
  const double = computed(() => source.value * 2);
  const root = newRoot();
  let renders = 0;
  const Reader = () => {
    renders += 1;
    return h("p", null, double.value);
  };
  render(h(Reader, null), root);
  assert.equal(source._observers.size, 1);
  render(null, root);
  assert.equal(source._observers.size, 0);
  source.value = 1;
  await settle();
  assert.equal(renders, 1);
  assert.equal(double.value, 2);
});

test("an id is unique and stays", async () => {
  const { h, render, signal, useId } = ours;
  const tick = signal(0);
  const Field = () => h("label", { for: useId() }, tick.value);
  const root = newRoot();
  render([h(Field, null), h(Field, null)], root);
  const ids = () => [...root.children].map((label) => label.getAttribute("for"));
  const before = ids();
  tick.value = 1;
  await settle();
  assert.deepEqual(ids(), before);
  assert.equal(new Set(before).size, 2);
});

test("two copies of the page, as in a notebook, have no id in common", async () => {
  const { h, render } = ours;
  const copies = [
    await import("../../src/regard/web/core/hooks.js?first"),
    await import("../../src/regard/web/core/hooks.js?second"),
  ];
  const Field = ({ copy }) => h("label", { for: copy.useId() });
  const ids = copies.map((copy) => {
    const root = newRoot();
    render([h(Field, { copy }), h(Field, { copy })], root);
    return [...root.children].map((label) => label.getAttribute("for"));
  });
  assert.equal(new Set(ids.flat()).size, 4);
});
