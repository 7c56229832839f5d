/** Two rows of words, source above target; a word that is hovered or focused lights up what it looks at, with ribbons between. */

import { inkOn, isDark, onTheme, paper, series, shade } from "./colour.js";
import { clear, h, svg } from "./make.js";
import { t } from "./text.js";

const FAINTEST = 0.04; // weights below this get no ribbon

/**
 * The rows as {node, update(changes), toSvg(), stop()}.
 *
 * options: source, target (spelled words), weights [target][source] or null, links [[source, target]], gold likewise or null,
 * onWord(side, index) for the word that is looked at now (null: none), onPin(side, index) for one that was clicked.
 */
export function wordRows(options) {
  const state = { ...options, active: null, pinned: null };
  const parts = { ribbons: svg("svg", { class: "ribbons", "aria-hidden": "true" }), source: null, target: null };
  const node = h("div", { class: "words" });
  const build = () => {
    parts.source = wordRow(state, parts, "source");
    parts.target = wordRow(state, parts, "target");
    clear(node, parts.ribbons, parts.source, parts.target);
    paintWords(state, parts);
  };
  const watching = new ResizeObserver(() => drawRibbons(state, parts));
  watching.observe(node);
  const stopTheme = onTheme(() => paintWords(state, parts));
  build();
  return {
    node,
    update(changes) {
      Object.assign(state, changes, "target" in changes ? { active: null, pinned: null } : {});
      if ("target" in changes || "source" in changes) build();
      else paintWords(state, parts);
    },
    activate: (side, index) => activate(state, parts, side === null ? state.pinned : { side, index }),
    toSvg: () => wordsPicture(state, parts, node),
    stop() {
      watching.disconnect();
      stopTheme();
    },
  };
}

function wordRow(state, parts, side) {
  const words = state[side].map((word, index) => wordButton(state, parts, { side, index, word }));
  return h(
    "div",
    {
      class: `word-row word-row-${side}`,
      role: "group",
      "aria-label": t(`translate.${side}_words`),
      onpointerleave: () => activate(state, parts, state.pinned),
    },
    words,
  );
}

function wordButton(state, parts, { side, index, word }) {
  const own = { side, index };
  return h(
    "button",
    {
      type: "button",
      class: "word",
      dir: "auto",
      tabindex: index === 0 ? "0" : "-1",
      "aria-pressed": "false",
      onpointerenter: (event) => event.pointerType !== "touch" && activate(state, parts, own),
      onfocus: () => activate(state, parts, own),
      onblur: () => activate(state, parts, state.pinned),
      onclick: () => pinWord(state, parts, own),
      onkeydown: (event) => moveWord(event, parts, own),
    },
    word,
  );
}

function activate(state, parts, word) {
  if (state.active?.side === word?.side && state.active?.index === word?.index) return;
  state.active = word;
  paintWords(state, parts);
  state.onWord?.(word?.side ?? null, word?.index ?? null);
}

/** A click holds a word, another click lets it go. */
function pinWord(state, parts, word) {
  const isSame = state.pinned?.side === word.side && state.pinned?.index === word.index;
  state.pinned = isSame ? null : word;
  state.active = null;
  activate(state, parts, word);
  state.onPin?.(word.side, isSame ? null : word.index);
}

/** Left and right go along a row, up and down to the other one; one word of each row is in the tab order. */
function moveWord(event, parts, { side, index }) {
  const other = side === "source" ? parts.target : parts.source;
  const own = parts[side];
  const last = own.children.length - 1;
  const moves = {
    ArrowLeft: [own, Math.max(0, index - 1)],
    ArrowRight: [own, Math.min(last, index + 1)],
    Home: [own, 0],
    End: [own, last],
    [side === "source" ? "ArrowDown" : "ArrowUp"]: [other, Math.min(index, other.children.length - 1)],
  };
  if (!(event.key in moves)) return;
  event.preventDefault();
  const [row, to] = moves[event.key];
  for (const [at, word] of [...row.children].entries()) word.tabIndex = at === to ? 0 : -1;
  row.children[to]?.focus();
}

/** How strongly each word is lit, from 0 to 1, or null where nothing is looked at. */
function lightOf(state, side, index) {
  const { active, weights } = state;
  if (!active || !weights || active.side === side) return null;
  return side === "source" ? weights[active.index]?.[index] : weights[index]?.[active.index];
}

function paintWords(state, parts) {
  for (const side of ["source", "target"]) {
    for (const [index, word] of [...parts[side].children].entries()) paintWord(state, word, side, index);
  }
  drawRibbons(state, parts);
}

function paintWord(state, word, side, index) {
  const light = lightOf(state, side, index);
  const is = (one) => one?.side === side && one?.index === index;
  const isGold = Boolean(state.active && state.gold?.some(([source, target]) => joins(state.active, side, index, source, target)));
  word.classList.toggle("is-active", is(state.active));
  word.classList.toggle("is-gold", isGold);
  word.setAttribute("aria-pressed", String(is(state.pinned)));
  word.style.backgroundColor = light === null || light === undefined ? "" : shade(light);
  word.style.color = light === null || light === undefined ? "" : inkOn(light);
}

function joins(active, side, index, source, target) {
  if (active.side === side) return false;
  return side === "source" ? source === index && target === active.index : target === index && source === active.index;
}

/** Ribbons of the active word, as wide as its weights; when none is active, faint ones for the links. */
function drawRibbons(state, parts) {
  const box = parts.source.parentElement?.getBoundingClientRect();
  if (!box?.width) return;
  for (const [name, value] of Object.entries({ width: box.width, height: box.height, viewBox: `0 0 ${box.width} ${box.height}` })) {
    parts.ribbons.setAttribute(name, value);
  }
  clear(
    parts.ribbons,
    ribbonsOf(state).map((ribbon) => ribbonPath(ribbon, parts, box, isDark())),
  );
}

function ribbonsOf({ active, weights, links, source, target }) {
  if (!weights) return [];
  if (!active) return (links ?? []).map(([from, to]) => ({ from, to, weight: weights[to]?.[from] ?? 0, isFaint: true }));
  const all = active.side === "target" ? source.map((_, from) => [from, active.index]) : target.map((_, to) => [active.index, to]);
  return all.map(([from, to]) => ({ from, to, weight: weights[to]?.[from] ?? 0 })).filter(({ weight }) => weight > FAINTEST);
}

function ribbonPath({ from, to, weight, isFaint }, parts, box, dark) {
  const [above, below] = [parts.source.children[from], parts.target.children[to]].map((word) => word?.getBoundingClientRect());
  if (!above || !below) return null;
  const [x1, y1] = [above.left + above.width / 2 - box.left, above.bottom - box.top];
  const [x2, y2] = [below.left + below.width / 2 - box.left, below.top - box.top];
  const bend = Math.max(18, (y2 - y1) * 0.5);
  return svg("path", {
    d: `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`,
    fill: "none",
    "stroke-linecap": "round",
    stroke: isFaint ? paper(dark).faint : series(0, dark).colour,
    "stroke-width": isFaint ? 1.5 : 1.5 + 12 * weight,
    "stroke-opacity": isFaint ? 0.38 : 0.25 + 0.6 * weight,
  });
}

/** What is on the screen as one <svg>, on white paper. */
function wordsPicture(state, parts, node) {
  const box = node.getBoundingClientRect();
  const picture = svg("svg", {
    xmlns: "http://www.w3.org/2000/svg",
    width: box.width,
    height: box.height,
    viewBox: `0 0 ${box.width} ${box.height}`,
  });
  picture.append(svg("rect", { width: box.width, height: box.height, fill: paper(false).paper }));
  for (const ribbon of ribbonsOf(state)) picture.append(ribbonPath(ribbon, parts, box, false) ?? "");
  for (const side of ["source", "target"]) {
    for (const [index, word] of [...parts[side].children].entries())
      picture.append(...pictureOfWord(word, lightOf(state, side, index), box));
  }
  return picture;
}

function pictureOfWord(word, light, box) {
  const { left, top, width, height } = word.getBoundingClientRect();
  const [x, y] = [left - box.left, top - box.top];
  const style = getComputedStyle(word);
  const lit = light ?? 0;
  return [
    svg("rect", { x, y, width, height, rx: 8, fill: light === null ? paper(false).paper : shade(lit, false) }),
    svg(
      "text",
      {
        x: x + width / 2,
        y: y + height / 2,
        "text-anchor": "middle",
        "dominant-baseline": "central",
        fill: light === null ? paper(false).ink : inkOn(lit, false),
        "font-family": style.fontFamily,
        "font-size": style.fontSize,
      },
      word.textContent,
    ),
  ];
}
