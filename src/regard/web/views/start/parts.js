// @ts-check
/** Parts that chapters share: the verdict on an answer, a table of scores and weights, and models of a server. */

import { shade } from "../../charts/colour.js";
import { Plot } from "../../charts/plot.js";
import { Problem } from "../../components/placeholders.js";
import { language, t } from "../../core/i18n.js";
import { useQuery, useWidth } from "../../core/query.js";
import { isDark } from "../../core/theme.js";
import { h, useEffect, useId, useMemo, useRef } from "../../core/ui.js";

/** @import { Store } from "../../core/store.js" */
/** @import { ComponentChildren } from "../../core/ui.js" */
/** @import { Model } from "../../data/backend.js" */

/**
 * Whether the reader's guess was right, and why; a screen reader reads it out.
 * @param {{ store: Store, guess: string, right: string, answers: [id: string, text: string][], children?: ComponentChildren }} props
 */
export function Verdict({ store, guess, right, answers, children }) {
  const isRight = guess === right;
  const answer = answers.find(([id]) => id === right)?.[1] ?? "";
  const text = isRight ? t("start.right") : t("start.wrong", { answer });
  useEffect(() => {
    store.announcement.value = text;
  }, [guess, right]);
  return h(
    "div",
    { class: isRight ? "verdict is-right" : "verdict" },
    h("p", { class: "verdict-text" }, h("span", { "aria-hidden": "true" }, isRight ? "✓ " : "→ "), text),
    h("p", null, children),
  );
}

/**
 * A row for each word: its score and its weight.
 * @param {object} props
 * @param {string} props.title
 * @param {string} [props.heading] of the column of words
 * @param {ComponentChildren} [props.note]
 * @param {string[]} props.words
 * @param {number[]} [props.scores]
 * @param {number[]} props.weights
 */
export function ScoreTable({ title, heading = t("start.word"), note, words, scores, weights }) {
  const dark = isDark.value;
  const rows = words.map((word, index) => {
    const weight = weights[index];
    const bar = { width: `${Math.max(0.5, weight * 100)}%`, "background-color": shade(0.25 + 0.7 * weight, dark) };
    return h(
      "tr",
      { key: index, class: weight === Math.max(...weights) ? "is-largest" : null },
      h("th", { scope: "row", dir: "auto" }, word),
      scores && h("td", { class: "number", "data-value": String(scores[index]) }, shortNumber(scores[index])),
      h(
        "td",
        { class: "bar-cell", "aria-hidden": "true" },
        h("span", { class: "bar-track" }, h("span", { class: "bar", style: bar })),
      ),
      h("td", { class: "number", "data-value": String(weight) }, weight.toFixed(3)),
    );
  });
  return h(
    "table",
    { class: "score-table" },
    h("caption", null, h("b", null, title), note && h("span", { class: "faint small" }, note)),
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        h("th", { scope: "col" }, heading),
        scores && h("th", { scope: "col" }, t("start.score")),
        h("th", { scope: "col", colspan: 2 }, t("start.weight")),
      ),
    ),
    h("tbody", null, rows),
  );
}

/** @param {number} value */
export function shortNumber(value) {
  return value.toFixed(2).replace("-", "−");
}

/**
 * Numbers with their names, side by side.
 * @param {{ items: [name: string, value: ComponentChildren, exact?: number][] }} props
 */
export function Figures({ items }) {
  return h(
    "dl",
    { class: "lesson-figures" },
    items.map(([name, value, exact]) =>
      h(
        "div",
        { key: name },
        h("dt", null, name),
        h("dd", { "data-value": exact === undefined ? null : String(exact) }, value),
      ),
    ),
  );
}

/**
 * A ready model of the server by its name.
 * @param {Store} store
 * @param {string} name
 * @returns {Model | null}
 */
export function readyModel(store, name) {
  return store.models.value.find((model) => model.name === name && model.is_ready) ?? null;
}

/** @param {{ names: string[] }} props */
export function NeedsModel({ names }) {
  return h("p", { class: "explain" }, t("start.needs_model", { models: names.join(", ") }));
}

/**
 * A sentence to try: one of a few, or the reader's own.
 * @param {{ label: string, samples: string[], value: string, onSend: (text: string) => void }} props
 */
export function SentenceChoice({ label, samples, value, onSend }) {
  const id = useId();
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const text = input.current?.value.trim();
    if (text) onSend(text);
  };
  const chips = samples.map((sample) =>
    h(
      "button",
      {
        key: sample,
        type: "button",
        lang: "en",
        "aria-pressed": String(sample === value),
        onClick: () => onSend(sample),
      },
      sample,
    ),
  );
  return h(
    "form",
    { class: "stack sentence-choice", onSubmit: submit },
    h("label", { for: id, class: "faint small" }, label),
    h(
      "div",
      { class: "composer-row" },
      h("input", { ref: input, id, key: value, type: "text", value, maxlength: 500, spellcheck: false }),
      h("button", { type: "submit" }, t("start.go")),
    ),
    h("div", { class: "chips" }, chips),
  );
}

/**
 * What a model outputs, below the name of what was changed.
 * @param {{ rows: { name: string, query: { data: string | null, error: Error | null }, lang?: string }[] }} props
 */
export function Outputs({ rows }) {
  return h(
    "dl",
    { class: "lesson-outputs" },
    rows.map(({ name, query, lang = "fr" }) =>
      h(
        "div",
        { key: name },
        h("dt", null, name),
        h(
          "dd",
          { lang, dir: "auto" },
          query.error
            ? h(Problem, { error: query.error })
            : query.data === ""
              ? h("span", { class: "faint", lang: language.value }, t("start.no_output"))
              : (query.data ?? h("span", { class: "waiting", lang: language.value }, t("note.waiting"))),
        ),
      ),
    ),
  );
}

/**
 * A model's translation of a text, also with interventions; null while the model is missing.
 * @param {Store} store
 * @param {Model | null} model
 * @param {string} text
 * @param {string[]} [interventions]
 * @returns {import("../../core/query.js").Query<string>}
 */
export function useTranslation(store, model, text, interventions = []) {
  return useQuery(
    model &&
      (async (signal) => {
        const changed = interventions.length ? { interventions } : {};
        const request = { model: model.name, texts: [text], ...changed };
        return (await store.data.translate(request, { signal })).translations[0][0].text;
      }),
    [model?.name, text, interventions.join("\n")],
  );
}

/**
 * A chart that is as wide as its place.
 * @param {{ title: string, deps: readonly unknown[], draw: (width: number) => import("../../charts/chart.js").Chart<any>, most?: number }} props
 */
export function SizedChart({ title, deps, draw, most = 620 }) {
  const [ref, width] = useWidth();
  const chart = useMemo(() => (width > 0 ? draw(Math.min(width, most)) : null), [width, title, ...deps]);
  return h(
    "div",
    { ref },
    h("p", { class: "small" }, h("b", null, title)),
    chart && h(Plot, { chart, hasTools: false }),
  );
}
