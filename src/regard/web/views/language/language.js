/** Language: a decoder-only model continues a prompt, an encoder-only model fills blanks; and how the tokens of the text attend to each other. */

import { layerHeadTitle } from "../../components/attention_names.js";
import { Select } from "../../components/controls.js";
import { HeadMap } from "../../components/head_map.js";
import { Card, Lead } from "../../components/layout.js";
import { NextTokens, TemperatureSlider, temperatureOf } from "../../components/next_tokens.js";
import { Empty, Loading, NotReady, Problem } from "../../components/placeholders.js";
import { SentenceForm } from "../../components/sentence_form.js";
import { WeightBars } from "../../components/weight_bars.js";
import { asRequest, changesOf, textExperiment } from "../../components/what_if/experiment.js";
import { WhatIf } from "../../components/what_if/what_if.js";
import { useDebounced } from "../../core/debounce.js";
import { t } from "../../core/i18n.js";
import { useQuery } from "../../core/query.js";
import { Fragment, h, useEffect, useState } from "../../core/ui.js";
import { indexParam } from "../../core/url.js";
import { BLANK } from "../../math/tokens.js";

/** @import { Store } from "../../core/store.js" */
/** @import { VNode } from "../../core/ui.js" */
/** @import { UrlState } from "../../core/url.js" */
/** @import { CompletionRecord, Model, Trace } from "../../data/backend.js" */

const SAMPLES = 5; // continuations sampled beside the greedy one
/** Title and lead, by what the model does. */
const LEADS = /** @type {const} */ ({
  beginning: ["language.heading_beginning", "language.lead_beginning"],
  blanks: ["language.heading_blanks", "language.lead_blanks"],
  encoder: ["language.heading_encoder", "language.lead_encoder"],
});
const COMMANDS = [
  "regard data generate sentences --out runs/world/data",
  "regard train recipes/world-decoder-only.toml",
  "regard train recipes/world-encoder-only.toml",
];

export const languageView = {
  id: "language",
  title: /** @type {const} */ ("language.title"),
  tasks: ["text-generation", "fill-mask"],
  View: Language,
};

/** @param {{ store: Store }} props */
function Language({ store }) {
  const model = store.model.value;
  if (model?.task !== "text-generation" && model?.task !== "fill-mask") {
    return h(
      "div",
      { class: "view language" },
      h(Lead, { title: t("language.heading") }, t("language.lead")),
      h(Empty, null, h("p", null, t("language.none")), h("pre", { class: "command" }, COMMANDS.join("\n"))),
    );
  }
  const kind = model.task === "text-generation" ? "beginning" : model.fills_masks ? "blanks" : "encoder";
  const prompt = promptOf(store.url.value);
  const send = (/** @type {string} */ text) => store.set({ text, prompt: "", look: "" });
  const [title, lead] = LEADS[kind];
  const Answer = kind === "beginning" ? Continuations : FilledBlanks;
  return h(
    "div",
    { class: "view language" },
    h(Lead, { title: t(title) }, t(lead)),
    h(SentenceForm, { store, text: prompt, onSend: send }),
    model.is_ready && prompt && h(WhatIf, { store, experiment: textExperiment(store, model, prompt) }),
    model.is_ready ? prompt && h(Answer, { store, model, prompt }) : h(NotReady, { model }),
  );
}

/**
 * The prompt in the address. Other views get a whole continuation as their text; a reader who returns finds the prompt that it came from.
 * @param {UrlState} url
 */
export function promptOf({ text = "", look, prompt }) {
  return prompt && text === look ? prompt : text;
}

// --- a prompt and its continuations ---

/** @param {{ store: Store, model: Model, prompt: string }} props */
function Continuations({ store, model, prompt }) {
  const changes = changesOf(store);
  const query = useQuery(
    (signal) =>
      store.traces.complete({ model: model.name, text: prompt, ...asRequest(changes), beam_size: 1 }, { signal }),
    [model.name, prompt, changes.join("\n")],
  );
  const greedy = query.data?.continuations[0] ?? null;
  useEffect(() => {
    if (greedy) store.announcement.value = greedy.text;
  }, [greedy]);
  if (query.error) return h(Problem, { error: query.error });
  if (!greedy) return h(Loading, null);
  const text = store.url.value.look || greedy.text;
  return h(
    Fragment,
    null,
    h(
      Card,
      { title: t("language.likeliest") },
      h(ContinuationList, { store, continuations: [greedy], prompt, chosen: text }),
    ),
    h(NextTokens, {
      store,
      input: JSON.stringify([model.name, text, changes]),
      withTrace: (use, signal) =>
        store.traces.withTrace({ model: model.name, text, ...asRequest(changes) }, use, { signal }),
    }),
    h(Samples, { store, model, prompt, chosen: text }),
    h(TextAttention, { store, model, prompt, text }),
  );
}

/** @param {{ store: Store, model: Model, prompt: string, chosen: string }} props */
function Samples({ store, model, prompt, chosen }) {
  const changes = changesOf(store);
  const settled = useDebounced(temperatureOf(store));
  const [round, setRound] = useState(0);
  const query = useQuery(
    (signal) =>
      store.data.complete(
        {
          model: model.name,
          text: prompt,
          do_sample: true,
          nbest: SAMPLES,
          temperature: settled,
          ...asRequest(changes),
        },
        { signal },
      ),
    [model.name, prompt, settled, round, changes.join("\n")],
    { keepsData: true },
  );
  const again = h("button", { type: "button", onClick: () => setRound(round + 1) }, t("language.draw_again"));
  return h(
    Card,
    { title: t("language.drawn"), explanation: t("language.drawn_hint"), beside: again },
    h(TemperatureSlider, { store }),
    query.error && h(Problem, { error: query.error }),
    query.data && h(ContinuationList, { store, continuations: query.data.continuations, prompt, chosen }),
    !query.data && !query.error && h(Loading, null),
  );
}

/**
 * Continuations, the best first; a click shows the attention of one.
 * @param {{ store: Store, continuations: CompletionRecord[], prompt: string, chosen: string }} props
 */
function ContinuationList({ store, continuations, prompt, chosen }) {
  const rows = continuations.map(({ text, score, log_probability, is_finished }, rank) => {
    const added = text.startsWith(prompt) ? [prompt, h("b", null, text.slice(prompt.length))] : text;
    const exact = t("translate.score_long", { log_probability: log_probability.toFixed(3) });
    return h(
      "li",
      { key: rank },
      h(
        "button",
        {
          type: "button",
          class: "output",
          "aria-pressed": String(text === chosen),
          onClick: () => store.set({ look: text }),
        },
        h("span", { class: "output-rank", "aria-hidden": "true" }, rank + 1),
        h("span", { class: "output-text", dir: "auto" }, added, !is_finished && " …"),
        h("span", { class: "number", title: exact }, score.toFixed(3)),
      ),
    );
  });
  return h("ol", { class: "outputs" }, rows);
}

// --- a text with blanks ---

/** @param {{ store: Store, model: Model, prompt: string }} props */
function FilledBlanks({ store, model, prompt }) {
  const hasBlank = model.fills_masks && BLANK.test(prompt);
  const changes = changesOf(store);
  const query = useQuery(
    hasBlank && ((signal) => store.traces.fill({ model: model.name, text: prompt, ...asRequest(changes) }, { signal })),
    [model.name, prompt, hasBlank, changes.join("\n")],
  );
  const filled = query.data;
  useEffect(() => {
    if (filled) store.announcement.value = filled.text;
  }, [filled]);
  if (query.error) return h(Problem, { error: query.error });
  if (hasBlank && !filled) return h(Loading, null);
  return h(
    Fragment,
    null,
    filled
      ? h(Card, { title: t("language.filled") }, h("p", { class: "growing", dir: "auto" }, filled.text))
      : model.fills_masks && h(Empty, null, t("language.no_blank")),
    filled &&
      h(
        "div",
        { class: "pairs" },
        filled.masks.map((guesses, index) => {
          const weights = guesses.map(({ token, probability }) => ({ word: token, weight: probability }));
          return h(Card, { key: index, title: t("language.blank", { number: index + 1 }) }, h(WeightBars, { weights }));
        }),
      ),
    h(TextAttention, { store, model, prompt, text: prompt }),
  );
}

// --- attention among the tokens of a text ---

/** @param {{ store: Store, model: Model, prompt: string, text: string }} props */
function TextAttention({ store, model, prompt, text }) {
  const changes = changesOf(store);
  const request = { model: model.name, text, ...asRequest(changes) };
  const trace = useQuery((signal) => store.traces.get(request, { signal }), [model.name, text, changes.join("\n")], {
    keepsData: true,
  });
  if (trace.error) return h(Problem, { error: trace.error });
  if (!trace.data) return h(Loading, null);
  const visit = (/** @type {UrlState} */ changes) => store.set({ ...changes, text, look: text, prompt });
  const link = (/** @type {string} */ label, /** @type {UrlState} */ changes) =>
    h("button", { type: "button", class: "link", onClick: () => visit(changes) }, label);
  const links = h(
    "p",
    null,
    link(t("language.to_heads"), { view: "heads" }),
    " ",
    link(t("language.to_inside"), { view: "inside", mode: "own" }),
  );
  return h(TraceAttention, { store, trace: trace.data, request, links });
}

/** @param {{ store: Store, trace: Trace, request: { model: string, text: string, interventions?: string[] }, links: VNode }} props */
function TraceAttention({ store, trace, request, links }) {
  const last = trace.layers.length - 1;
  const number = indexParam(store.url.value.layer, last + 1) ?? last;
  const layer = trace.layers[number];
  const query = useQuery(
    (signal) =>
      store.traces.withTrace(
        request,
        async ({ id }) => ({
          trace,
          layer,
          map: await store.data.weights(id, { layer: number, head: "mean" }, { signal }),
        }),
        { signal },
      ),
    [trace, number],
    { keepsData: true },
  );
  const options = trace.layers.map(
    (one, index) => /** @type {[string, string]} */ ([String(index), t("heads.layer", { layer: one.layer + 1 })]),
  );
  const choice = h(Select, {
    label: t("translate.layer"),
    options,
    value: String(number),
    onChange: (value) => store.set({ layer: value, cell: "" }),
  });
  const shown = query.data;
  return h(
    Card,
    { title: t("language.looks"), beside: choice },
    query.error && h(Problem, { error: query.error }),
    shown && h(HeadMap, { store, ...shown, head: null, title: layerHeadTitle(shown.layer, "mean"), asWords: true }),
    links,
  );
}
