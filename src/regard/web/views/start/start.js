// @ts-check
/** Start: the story of attention in short chapters. Each has one idea, a question, and an experiment that answers it. */

import { t } from "../../core/i18n.js";
import { h, useEffect, useId, useLayoutEffect, useRef } from "../../core/ui.js";
import { changedState, formatHash } from "../../core/url.js";
import { CHAPTERS } from "./chapters/chapters.js";
import { answers, rememberAnswer } from "./progress.js";

/** @import { Store } from "../../core/store.js" */
/** @import { ComponentChildren, Ref } from "../../core/ui.js" */
/** @import { UrlState } from "../../core/url.js" */
/** @import { Chapter } from "./chapter.js" */

export const startView = { id: "start", title: /** @type {const} */ ("start.title"), View: Start };

/** @param {{ store: Store }} props */
function Start({ store }) {
  const index = Math.max(
    0,
    CHAPTERS.findIndex(({ id }) => id === store.url.value.chapter),
  );
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  const shown = useRef(index);
  useLayoutEffect(() => {
    if (shown.current === index) return;
    shown.current = index; // the reader has turned the page: begin at its top
    heading.current?.scrollIntoView({ block: "start" });
    heading.current?.focus({ preventScroll: true });
  }, [index]);
  return h(
    "div",
    { class: "start" },
    h(ChapterList, { store, index }),
    h(ChapterPage, { key: CHAPTERS[index].id, store, index, heading }),
  );
}

/**
 * A link to a state of the page; it opens in a new window, too.
 * @param {{ store: Store, state: UrlState, children?: ComponentChildren, [attribute: string]: unknown }} props
 */
function StateLink({ store, state, children, ...attributes }) {
  const href = formatHash(changedState(store.shared.value, state));
  const open = (/** @type {MouseEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    store.set(state);
  };
  return h("a", { href, onClick: open, ...attributes }, children);
}

/**
 * The state that shows a chapter, with the answer that the reader has given before.
 * @param {number} index
 * @returns {UrlState}
 */
function chapterState(index) {
  const { id } = CHAPTERS[index];
  return { chapter: id, guess: answers.value[id] ?? "", setting: "" };
}

/** @param {{ store: Store, index: number }} props */
function ChapterList({ store, index }) {
  const done = CHAPTERS.filter(({ id }) => answers.value[id]).length;
  const items = CHAPTERS.map(({ id, title }, number) => {
    const isDone = Boolean(answers.value[id]);
    const state = { "aria-current": number === index ? "step" : null, class: isDone ? "is-done" : null };
    return h(
      "li",
      { key: id },
      h(
        StateLink,
        { store, state: chapterState(number), ...state },
        h("span", { class: "chapter-mark", "aria-hidden": "true" }, isDone ? "✓" : number + 1),
        h("span", { class: "chapter-title" }, t(title)),
        isDone && h("span", { class: "only-heard" }, ` (${t("start.done")})`),
      ),
    );
  });
  return h(
    "nav",
    { class: "chapters", "aria-label": t("start.chapters") },
    h("p", { class: "faint small" }, t("start.progress", { done, count: CHAPTERS.length })),
    h("ol", null, items),
  );
}

/** @param {{ store: Store, index: number, heading: Ref<HTMLElement | null> }} props */
function ChapterPage({ store, index, heading }) {
  const chapter = CHAPTERS[index];
  const { guess = "", setting = "" } = store.url.value;
  const onSetting = (/** @type {string} */ next) => store.set({ setting: next });
  const isAnswered = chapter.answers().some(([id]) => id === guess);
  useEffect(() => {
    if (isAnswered) rememberAnswer(chapter.id, guess);
  }, [guess]);
  const question = useRef(/** @type {HTMLElement | null} */ (null));
  const wasAnswered = useRef(isAnswered);
  useLayoutEffect(() => {
    if (isAnswered && !wasAnswered.current) question.current?.scrollIntoView({ block: "start" }); // the result is below it
    wasAnswered.current = isAnswered;
  }, [isAnswered]);
  const props = { store, setting, onSetting };
  return h(
    "article",
    { class: "chapter" },
    h("p", { class: "chapter-number" }, t("start.number", { number: index + 1, count: CHAPTERS.length })),
    h("h1", { ref: heading, tabindex: -1 }, t(chapter.title)),
    h("p", { class: "idea" }, t(chapter.idea)),
    chapter.Setup && h("div", { class: "setup stack" }, h(chapter.Setup, props)),
    h(Question, { store, chapter, guess, section: question }),
    isAnswered &&
      h(
        "section",
        { class: "card result stack", "aria-label": t("start.result") },
        h(chapter.Result, { ...props, guess }),
        h("p", { class: "continue" }, h(StateLink, { store, state: chapter.link.state }, t(chapter.link.text), " →")),
      ),
    isAnswered && index === CHAPTERS.length - 1 && h("p", { class: "idea" }, t("start.end")),
    h(PageTurner, { store, index }),
  );
}

/**
 * The question. Choosing an answer shows the result; the reader may choose again.
 * @param {{ store: Store, chapter: Chapter, guess: string, section: Ref<HTMLElement | null> }} props
 */
function Question({ store, chapter, guess, section }) {
  const id = useId();
  const buttons = chapter.answers().map(([answer, text]) => {
    const choose = () => store.set({ guess: answer });
    return h(
      "button",
      { key: answer, type: "button", class: "answer", "aria-pressed": String(answer === guess), onClick: choose },
      text,
    );
  });
  return h(
    "section",
    { ref: section, class: "card question", "aria-labelledby": id },
    h("p", { class: "eyebrow" }, t("start.question")),
    h("h2", { id }, t(chapter.question)),
    h("div", { class: "answers", role: "group", "aria-labelledby": id }, buttons),
    !guess && h("p", { class: "faint small" }, t("start.guess_first")),
  );
}

/** @param {{ store: Store, index: number }} props */
function PageTurner({ store, index }) {
  const link = (/** @type {number} */ to, /** @type {string} */ rel, /** @type {string} */ text) =>
    h(
      StateLink,
      { store, state: chapterState(to), rel, class: `turn turn-${rel}` },
      h("span", { class: "faint small" }, text),
      h("span", null, t(CHAPTERS[to].title)),
    );
  return h(
    "nav",
    { class: "turner", "aria-label": t("start.turn") },
    index > 0 ? link(index - 1, "prev", t("start.previous")) : h("span"),
    index < CHAPTERS.length - 1 && link(index + 1, "next", t("start.next")),
  );
}
