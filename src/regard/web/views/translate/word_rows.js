/** The words of source and target as two rows of buttons, with ribbons between them. */

import { inkOn, series, shade } from "../../charts/colour.js";
import { TIE_HEIGHT } from "../../charts/ribbons.js";
import { t } from "../../core/i18n.js";
import { isDark } from "../../core/theme.js";
import { h, useLayoutEffect, useRef, useState } from "../../core/ui.js";

/** @import { RibbonsChart, WordLayout, WordStyle } from "../../charts/ribbons.js" */
/** @import { SideName, WordPlace } from "../../math/alignment.js" */
/** @typedef {{ current: HTMLElement | null }} ElementRef */
/** @typedef {{ container: ElementRef, source: ElementRef, target: ElementRef }} RowRefs */

/** @type {WordLayout} */
const NOT_MEASURED = { width: 0, height: 0, fontSize: 0, source: [], target: [] };
const SIDES = /** @type {const} */ (["source", "target"]);
const LABELS = /** @type {const} */ ({ source: "translate.source_words", target: "translate.target_words" });

/**
 * The boxes of the words, measured again when the words or their room change.
 * @param {string[]} source
 * @param {string[]} target
 * @returns {[RowRefs, WordLayout]}
 */
export function useWordLayout(source, target) {
  /** @type {RowRefs} */
  const refs = { container: useRef(null), source: useRef(null), target: useRef(null) };
  const [layout, setLayout] = useState(NOT_MEASURED);
  useLayoutEffect(() => {
    const measure = () => {
      const next = measuredLayout(refs);
      setLayout((last) => (JSON.stringify(last) === JSON.stringify(next) ? last : next));
    };
    const observer = new ResizeObserver(measure);
    for (const { current } of Object.values(refs)) if (current) observer.observe(current);
    measure();
    return () => observer.disconnect();
  }, [source.join("\n"), target.join("\n")]);
  return [refs, layout];
}

/**
 * @param {RowRefs} refs
 * @returns {WordLayout}
 */
function measuredLayout({ container, source, target }) {
  if (!container.current) return NOT_MEASURED;
  const frame = container.current.getBoundingClientRect();
  const boxesOf = (/** @type {ElementRef} */ row) =>
    [...(row.current?.children ?? [])].map((word) => {
      const { left, top, width, height } = word.getBoundingClientRect();
      return { left: left - frame.left, top: top - frame.top, width, height };
    });
  const first = source.current?.firstElementChild;
  const fontSize = first ? Number.parseFloat(getComputedStyle(first).fontSize) : 0;
  return { width: frame.width, height: frame.height, fontSize, source: boxesOf(source), target: boxesOf(target) };
}

/**
 * @param {object} props
 * @param {RowRefs} props.refs
 * @param {RibbonsChart} props.chart
 * @param {string[]} props.source
 * @param {string[]} props.target
 * @param {WordPlace | null} props.active
 * @param {WordPlace | null} props.pinned
 * @param {Set<number>} [props.unsure] words of the target that the model is not sure of
 * @param {(word: WordPlace | null) => void} props.onHover pointer or focus is on a word
 * @param {(word: WordPlace) => void} props.onFocus
 * @param {(word: WordPlace | null) => void} props.onPin
 */
export function WordRows({ refs, chart, source, target, active, pinned, unsure, onHover, onFocus, onPin }) {
  const [entry, setEntry] = useState({ source: 0, target: 0 }); // the word of each row that is in the tab order
  const dark = isDark.value;
  const press = (/** @type {KeyboardEvent} */ event, /** @type {WordPlace} */ word) => {
    const next = chart.step(word, event.key);
    if (!next) return;
    event.preventDefault();
    /** @type {HTMLElement | undefined} */ (refs[next.side].current?.children[next.index])?.focus();
  };
  const focus = (/** @type {WordPlace} */ word) => {
    setEntry((last) => ({ ...last, [word.side]: word.index }));
    onHover(word);
    onFocus(word);
  };
  const wordButton = (/** @type {string} */ text, /** @type {WordPlace} */ word) => {
    const isPinned = isSame(word, pinned);
    const { style, isGold } = buttonStyle(chart.wordStyle(word), dark);
    const isUnsure = word.side === "target" && unsure?.has(word.index);
    const states = { "is-active": isSame(word, active), "is-gold": isGold, "is-unsure": isUnsure };
    const classes = ["word", ...Object.entries(states).flatMap(([name, is]) => (is ? [name] : []))];
    return h(
      "button",
      {
        key: word.index,
        type: "button",
        class: classes.join(" "),
        dir: "auto",
        tabindex: entry[word.side] === word.index ? 0 : -1,
        "aria-pressed": isPinned,
        style,
        onPointerEnter: (/** @type {PointerEvent} */ event) => event.pointerType !== "touch" && onHover(word),
        onFocus: () => focus(word),
        onBlur: () => onHover(null),
        onClick: () => onPin(isPinned ? null : word),
        onKeyDown: (/** @type {KeyboardEvent} */ event) => press(event, word),
      },
      text,
    );
  };
  const row = (/** @type {SideName} */ side, /** @type {string[]} */ words) =>
    h(
      "div",
      {
        ref: refs[side],
        class: `word-row word-row-${side}`,
        role: "group",
        "aria-label": t(LABELS[side]),
        onPointerLeave: () => onHover(null),
      },
      words.map((text, index) => wordButton(text, { side, index })),
    );
  const size = { width: chart.width, height: chart.height, viewBox: `0 0 ${chart.width} ${chart.height}` };
  return h(
    "div",
    { ref: refs.container, class: "words" },
    h("svg", { class: "ribbons", "aria-hidden": "true", ...size }, chart.ribbons(dark)),
    row("source", source),
    row("target", target),
  );
}

/**
 * @param {WordStyle} given
 * @param {boolean} dark
 */
function buttonStyle({ light, tie, isGold }, dark) {
  const style = {
    "background-color": light === null ? "" : shade(light, dark),
    color: light === null ? "" : inkOn(light, dark),
    "box-shadow": tie ? `inset 0 -${TIE_HEIGHT}px ${series(tie, dark).colour}` : "",
  };
  return { style, isGold };
}

/**
 * @param {WordPlace} word
 * @param {WordPlace | null} other
 */
function isSame(word, other) {
  return word.side === other?.side && word.index === other.index;
}

/**
 * The word of a URL parameter, "target.2", where these sentences have it.
 * @param {string} value
 * @param {Record<SideName, string[]>} words
 * @returns {WordPlace | null}
 */
export function parseWord(value, words) {
  const [name, index] = value.split(".");
  const side = SIDES.find((one) => one === name);
  return side && /^\d+$/.test(index) && Number(index) < words[side].length ? { side, index: Number(index) } : null;
}

/** @param {WordPlace | null} word */
export function formatWord(word) {
  return word ? `${word.side}.${word.index}` : "";
}
