/** All heads of an attention as small maps in rows, a row for each layer; a map is fetched when it scrolls into view. */

import { h } from "./make.js";
import { onTheme } from "./colour.js";
import { paintMap } from "./heatmap.js";
import { highWeight } from "./habits.js";
import { shrunkMap } from "./shrinking.js";
import { t } from "./text.js";

const THUMB_CELLS = 72; // at most, along each side
const SHORT = 64; // columns; in a longer map few weights are near 1, and would be all that is seen

/** The weight that is drawn darkest: 1 where rows are short, so that heads can be compared; else one that few exceed. */
export function darkestWeight({ weights, columns }) {
  return columns <= SHORT ? 1 : Math.min(1, Math.max(4 / columns, highWeight(weights)));
}

/**
 * The small maps of `rows` [{title, heads: [{name, place, short, caption?, isBest?}]}]; `place` is only heard; `load(name)` gives a map, `choose(name)` is told
 * which one was clicked. Returns {node, mark(name), stop()}.
 */
export function headThumbs(rows, { load, choose }) {
  const thumbs = new Map();
  const painted = new Map();
  const observer = new IntersectionObserver((seen) => seen.forEach((entry) => entry.isIntersecting && show(entry.target)), {
    rootMargin: "120px",
  });
  const show = async (button) => {
    observer.unobserve(button);
    const map = await load(button.dataset.name).catch(() => null);
    if (!map) return button.classList.add("has-failed");
    painted.set(button, { ...shrunkMap(map.weights, map.rows, map.columns, THUMB_CELLS), most: darkestWeight(map) });
    paintThumb(button, painted.get(button));
  };
  const build = (head) => {
    const button = thumbOf(head, () => choose(head.name));
    thumbs.set(head.name, button);
    observer.observe(button);
    return button;
  };
  const node = h("div", { class: "head-rows", onkeydown: moveAmongThumbs }, rows.map((row) => thumbRow(row, build)));
  const stopTheme = onTheme(() => painted.forEach((map, button) => paintThumb(button, map)));
  return {
    node,
    mark: (name) => thumbs.forEach((button, other) => button.setAttribute("aria-pressed", String(other === name))),
    stop() {
      observer.disconnect();
      stopTheme();
    },
  };
}

function thumbRow(row, build) {
  return h(
    "div",
    { class: "head-row", role: "group", "aria-label": row.title },
    h("h3", null, row.title),
    h("div", { class: "head-thumbs" }, row.heads.map(build)),
  );
}

function thumbOf(head, onclick) {
  const star = [h("span", { class: "star", "aria-hidden": "true", title: t("heads.best") }, "★"), h("span", { class: "only-heard" }, ` ${t("heads.best")}`)];
  return h(
    "button",
    { type: "button", class: `head-thumb${head.isBest ? " is-best" : ""}`, "data-name": head.name, "aria-pressed": "false", onclick },
    h("canvas", { width: 1, height: 1, "aria-hidden": "true" }),
    h("span", { class: "head-name" }, h("span", { class: "only-heard" }, `${head.place}, `), head.short, head.isBest && star),
    head.caption && h("span", { class: "head-caption" }, head.caption),
  );
}

function paintThumb(button, map) {
  const canvas = button.querySelector("canvas");
  paintMap(canvas, map);
  canvas.classList.add("is-painted");
  canvas.style.setProperty("aspect-ratio", String(Math.min(1.8, Math.max(0.55, map.columns / map.rows))));
}

/** Arrow keys go from map to map: along a row, and from row to row. */
function moveAmongThumbs(event) {
  const here = event.target.closest(".head-thumb");
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  if (!here || !steps) return;
  event.preventDefault();
  const rows = [...event.currentTarget.querySelectorAll(".head-thumbs")].map((row) => [...row.children]);
  const row = rows.findIndex((buttons) => buttons.includes(here));
  const column = rows[row].indexOf(here);
  const target = rows[Math.min(rows.length - 1, Math.max(0, row + steps[0]))];
  target[Math.min(target.length - 1, Math.max(0, column + steps[1]))].focus();
}
