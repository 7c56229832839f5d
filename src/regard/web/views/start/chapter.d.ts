import type { MessageKey } from "../../core/i18n.js";
import type { Store } from "../../core/store.js";
import type { ComponentChildren } from "../../core/ui.js";
import type { UrlState } from "../../core/url.js";

/** What a part of a chapter gets. */
export interface ChapterProps {
  store: Store;
  /** The state of the chapter's experiment, as in the address; empty at the beginning. */
  setting: string;
  onSetting(setting: string): void;
}

export interface ResultProps extends ChapterProps {
  /** The answer that the reader chose. */
  guess: string;
}

/** A chapter of the lesson: one idea, a question, and an experiment whose result is shown after the reader has answered. */
export interface Chapter {
  /** Its name in the address. */
  id: string;
  title: MessageKey;
  idea: MessageKey;
  question: MessageKey;
  /** The answers to choose from: their names in the address, and their texts. */
  answers(): [id: string, text: string][];
  /** What the question is about, shown before the reader answers. */
  Setup?(props: ChapterProps): ComponentChildren;
  /** The experiment: it contains a Verdict on the reader's answer. */
  Result(props: ResultProps): ComponentChildren;
  /** The view that continues the chapter. */
  link: { text: MessageKey; state: UrlState };
}
