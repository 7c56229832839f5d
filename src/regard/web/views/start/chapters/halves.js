// @ts-check
/** Half a Transformer: an encoder-only model (BERT) sees both sides of a blank, a decoder-only model (GPT) what is before it. */

import { Segmented } from "../../../components/controls.js";
import { Loading, Problem } from "../../../components/placeholders.js";
import { WeightBars } from "../../../components/weight_bars.js";
import { t } from "../../../core/i18n.js";
import { useQuery } from "../../../core/query.js";
import { h } from "../../../core/ui.js";
import { NeedsModel, readyModel, Verdict } from "../parts.js";

/** @import { Query } from "../../../core/query.js" */
/** @import { Store } from "../../../core/store.js" */
/** @import { ComponentChildren } from "../../../core/ui.js" */
/** @import { Chapter, ResultProps } from "../chapter.js" */

const [ENCODER, DECODER] = ["world-encoder-only", "world-decoder-only"];
const BEFORE = "안나가"; // Anna
const VERBS = ["갔다", "읽었다"]; // went, read
const TEXT = `${BEFORE} ___ ${VERBS[0]}`;
const SHOWN = 5;
const NEW_TOKENS = 6; // the beginning of a continuation is enough here

/** @type {Chapter} */
export const halvesChapter = {
  id: "halves",
  title: "start.halves_title",
  idea: "start.halves_idea",
  question: "start.halves_question",
  answers: () => [
    ["both", t("start.halves_both")],
    ["encoder", t("start.halves_encoder")],
    ["decoder", t("start.halves_decoder")],
  ],
  Setup,
  Result,
  link: { text: "start.halves_link", state: { view: "language", model: ENCODER, text: TEXT } },
};

function Setup() {
  return h("p", { class: "sample", lang: "ko" }, BEFORE, " ", h("b", null, "___"), " ", VERBS[0]);
}

/** @param {ResultProps} props */
function Result({ store, guess, setting, onSetting }) {
  const verb = VERBS.includes(setting) ? setting : VERBS[0];
  return [
    h(Verdict, { store, guess, right: "encoder", answers: halvesChapter.answers() }, t("start.halves_explained")),
    h(
      "div",
      { class: "lesson-grid" },
      h(Visible, { title: t("start.halves_encoder_sees"), verb, isCausal: false }),
      h(Visible, { title: t("start.halves_decoder_sees"), verb, isCausal: true }),
    ),
    h(
      "div",
      { class: "field" },
      t("start.halves_verb"),
      h(Segmented, {
        label: t("start.halves_verb"),
        options: VERBS.map((each) => /** @type {[string, string]} */ ([each, each])),
        value: verb,
        onChange: (/** @type {string} */ each) => onSetting(each === VERBS[0] ? "" : each),
      }),
    ),
    h(Predictions, { store, verb }),
  ];
}

/**
 * Which words each word attends to.
 * @param {{ title: string, verb: string, isCausal: boolean }} props
 */
function Visible({ title, verb, isCausal }) {
  const words = [BEFORE, "___", verb];
  const rows = words.map((word, row) =>
    h(
      "tr",
      { key: row },
      h("th", { scope: "row", lang: "ko" }, word),
      words.map((_, column) => {
        const isSeen = !isCausal || column <= row;
        const mark = h("span", { "aria-hidden": "true" }, isSeen ? "●" : "–");
        return h(
          "td",
          { key: column, class: isSeen ? "is-met" : null },
          mark,
          h("span", { class: "only-heard" }, t(isSeen ? "start.halves_visible" : "start.halves_hidden")),
        );
      }),
    ),
  );
  return h(
    "table",
    { class: "requirements" },
    h("caption", null, h("b", null, title)),
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        h("td"),
        words.map((word, index) => h("th", { key: index, scope: "col", lang: "ko" }, word)),
      ),
    ),
    h("tbody", null, rows),
  );
}

/** @param {{ store: Store, verb: string }} props */
function Predictions({ store, verb }) {
  const [encoder, decoder] = [readyModel(store, ENCODER), readyModel(store, DECODER)];
  const text = `${BEFORE} ___ ${verb}`;
  const filled = useQuery(
    encoder &&
      (async (signal) => {
        const { masks } = await store.traces.fill({ model: ENCODER, text, top_k: SHOWN }, { signal });
        return masks[0].map(({ token, probability }) => ({ word: token, weight: probability }));
      }),
    [encoder?.name, text],
    { keepsData: true },
  );
  const continued = useQuery(
    decoder &&
      ((signal) =>
        store.traces.complete(
          { model: DECODER, text: BEFORE, beam_size: SHOWN, nbest: SHOWN, max_new_tokens: NEW_TOKENS },
          { signal },
        )),
    [decoder?.name],
  );
  const missing = [encoder ? "" : ENCODER, decoder ? "" : DECODER].filter(Boolean);
  if (missing.length) return h(NeedsModel, { names: missing });
  return h(
    "div",
    { class: "lesson-grid" },
    h(
      "div",
      { class: "stack" },
      h("p", null, h("b", null, t("start.halves_fills", { text }))),
      h(Answer, { query: filled }, filled.data && h(WeightBars, { weights: filled.data })),
    ),
    h(
      "div",
      { class: "stack" },
      h("p", null, h("b", null, t("start.halves_continues", { text: `${BEFORE} …` }))),
      h(
        Answer,
        { query: continued },
        continued.data &&
          h(
            "ol",
            { class: "lesson-list", lang: "ko" },
            wholeTexts(continued.data.continuations).map((text) => h("li", { key: text }, text)),
          ),
      ),
    ),
  );
}

/**
 * Texts up to their last whole word, each once, without those in which no word after the given one is whole.
 * @param {{ text: string, is_finished: boolean }[]} continuations
 */
function wholeTexts(continuations) {
  const upToSpace = (/** @type {string} */ text) => (text.includes(" ") ? text.slice(0, text.lastIndexOf(" ")) : text);
  const whole = continuations.filter((each) => each.is_finished || upToSpace(each.text) !== BEFORE);
  return [...new Set(whole.map((each) => (each.is_finished ? each.text : `${upToSpace(each.text)} …`)))];
}

/** @param {{ query: Query<unknown>, children?: ComponentChildren }} props */
function Answer({ query, children }) {
  if (query.error) return h(Problem, { error: query.error });
  return query.data ? children : h(Loading);
}
