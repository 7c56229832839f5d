/** Two rows of words, source above target; a word that is hovered or focused lights up what it looks at, with ribbons between. */

import { inkOn, isDark, onTheme, paper, series, shade } from "./colour.js";
import { addChildren, clear, h, svg } from "./make.js";
import { t } from "./text.js";

const FAINTEST = 0.04; // weights below this get no ribbon and no link
const MOST_TIED = 6; // words on rows away from the other side that get a ribbon: each has a colour of its own
const TIE_HEIGHT = 3; // pixels of the line under a word that has its ribbon's colour
const OFF_EDGE = 9; // pixels from a block of rows to a ribbon's end that touches none of its words

/** The links of an alignment that are worth drawing: a word that looked almost wholly at </s> has one to a cell that is nearly empty. */
export function drawnLinks({ links, weights }) {
  return links.filter(([from, to]) => weights[to][from] > FAINTEST);
}

/**
 * The rows as {node, update(changes), toSvg(), stop()}.
 *
 * options: source, target (spelled words), weights [target][source] or null, links [[source, target]], gold likewise or null,
 * pinned: the word that is held, as {side, index} or null; onWord(side, index) for the word that is looked at now (null: none),
 * onPin(side, index) for one that was clicked (null: let go).
 */
export function wordRows(options) {
  const state = { pinned: null, ...options, active: options.pinned ?? null };
  const parts = { ribbons: svg("svg", { class: "ribbons", "aria-hidden": "true" }), source: null, target: null };
  const node = h("div", { class: "words" });
  const build = () => {
    parts.source = wordRow(state, parts, "source");
    parts.target = wordRow(state, parts, "target");
    clear(node, parts.ribbons, parts.source, parts.target);
    paintWords(state, parts);
  };
  const watching = new ResizeObserver(() => paintWords(state, parts)); // other words may stand on other rows
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
  const ribbons = ribbonsOf(state, parts);
  for (const side of ["source", "target"]) {
    for (const [index, word] of [...parts[side].children].entries()) paintWord(state, word, side, index, tieOf(state, ribbons, side, index));
  }
  drawRibbons(ribbons, parts);
}

function paintWord(state, word, side, index, tie) {
  const light = lightOf(state, side, index);
  const is = (one) => one?.side === side && one?.index === index;
  const isGold = Boolean(state.active && state.gold?.some(([source, target]) => joins(state.active, side, index, source, target)));
  word.classList.toggle("is-active", is(state.active));
  word.classList.toggle("is-gold", isGold);
  word.setAttribute("aria-pressed", String(is(state.pinned)));
  word.style.backgroundColor = light === null || light === undefined ? "" : shade(light);
  word.style.color = light === null || light === undefined ? "" : inkOn(light);
  word.style.boxShadow = tie ? `inset 0 -${TIE_HEIGHT}px ${series(tie).colour}` : "";
}

function joins(active, side, index, source, target) {
  if (active.side === side) return false;
  return side === "source" ? source === index && target === active.index : target === index && source === active.index;
}

function drawRibbons(ribbons, parts) {
  const box = parts.source.parentElement?.getBoundingClientRect();
  if (!box?.width) return;
  for (const [name, value] of Object.entries({ width: box.width, height: box.height, viewBox: `0 0 ${box.width} ${box.height}` })) {
    parts.ribbons.setAttribute(name, value);
  }
  clear(
    parts.ribbons,
    ribbons.map((ribbon) => ribbonShapes(ribbon, parts, box, isDark())),
  );
}

/** Ribbons of the active word, as wide as its weights; when none is active, faint ones for the links where they can be followed. */
function ribbonsOf({ active, weights, links, source, target }, parts) {
  if (!weights || !source.length || !target.length || !parts.source.getBoundingClientRect().width) return [];
  const ribbon = ([from, to]) => ({ from, to, weight: weights[to]?.[from] ?? 0, tie: 0, activeSide: active?.side });
  if (!active) return isWrapped(parts) ? [] : (links ?? []).map((link) => ({ ...ribbon(link), isFaint: true }));
  const isTarget = active.side === "target";
  const all = isTarget ? source.map((_, from) => [from, active.index]) : target.map((_, to) => [active.index, to]);
  const seen = all.map(ribbon).filter(({ weight }) => weight > FAINTEST);
  return isTarget ? tied(seen, ({ from }) => isBeside(parts, "source", from)) : tied(seen, ({ to }) => isBeside(parts, "target", to));
}

/** Ribbons that touch their word, and the strongest of the others, each tied to its word by a colour (the number `tie`). */
function tied(ribbons, isTouching) {
  const others = ribbons.filter((ribbon) => !isTouching(ribbon)).sort((one, two) => two.weight - one.weight);
  return [...ribbons.filter(isTouching), ...others.slice(0, MOST_TIED).map((ribbon, rank) => ({ ...ribbon, tie: rank + 1 }))];
}

/** The colour that ties a word to its ribbon, where it needs one; all ribbons are the active word's. */
function tieOf({ active }, ribbons, side, index) {
  const end = side === "source" ? "from" : "to";
  return active?.side === side ? 0 : (ribbons.find((ribbon) => ribbon[end] === index)?.tie ?? 0);
}

/** Whether a word is on the row next to the other side: on the way to another row, a ribbon would run behind words that it does not mean. */
function isBeside(parts, side, index) {
  const [word, block] = [parts[side].children[index], parts[side]].map((node) => node.getBoundingClientRect());
  const middle = (word.top + word.bottom) / 2;
  return side === "source" ? middle > block.bottom - word.height : middle < block.top + word.height;
}

function isWrapped(parts) {
  return !isBeside(parts, "source", 0) || !isBeside(parts, "target", parts.target.children.length - 1);
}

/** A ribbon and, where an end cannot touch its word, a dot at the edge of the word's rows. */
function ribbonShapes({ from, to, weight, tie, activeSide, isFaint }, parts, box, dark) {
  const [above, below] = [ribbonEnd(parts, "source", from, box), ribbonEnd(parts, "target", to, box)];
  const bend = Math.max(18, (below.y - above.y) * 0.5);
  const dot = ({ x, y, side }) => svg("circle", { cx: x, cy: y, r: 4, fill: series(side === activeSide ? 0 : tie, dark).colour });
  return [
    svg("path", {
      d: `M${above.x} ${above.y}C${above.x} ${above.y + bend} ${below.x} ${below.y - bend} ${below.x} ${below.y}`,
      fill: "none",
      "stroke-linecap": "round",
      stroke: isFaint ? paper(dark).faint : series(tie, dark).colour,
      "stroke-width": isFaint ? 1.5 : 1.5 + 12 * weight,
      "stroke-opacity": isFaint ? 0.38 : 0.25 + 0.6 * weight,
    }),
    [above, below].filter(({ isTouching }) => !isTouching).map(dot),
  ];
}

function ribbonEnd(parts, side, index, box) {
  const [word, block] = [parts[side].children[index], parts[side]].map((node) => node.getBoundingClientRect());
  const isTouching = isBeside(parts, side, index);
  const off = isTouching ? 0 : OFF_EDGE;
  const y = side === "source" ? block.bottom + off : block.top - off;
  return { x: word.left + word.width / 2 - box.left, y: y - box.top, side, isTouching };
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
  const ribbons = ribbonsOf(state, parts);
  addChildren(
    picture,
    ribbons.map((ribbon) => ribbonShapes(ribbon, parts, box, false)),
  );
  for (const side of ["source", "target"]) {
    for (const [index, word] of [...parts[side].children].entries())
      addChildren(picture, pictureOfWord(word, { light: lightOf(state, side, index), tie: tieOf(state, ribbons, side, index) }, box));
  }
  return picture;
}

function pictureOfWord(word, { light, tie }, box) {
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
    tie > 0 && svg("rect", { x: x + 4, y: y + height - TIE_HEIGHT, width: width - 8, height: TIE_HEIGHT, fill: series(tie, false).colour }),
  ];
}
