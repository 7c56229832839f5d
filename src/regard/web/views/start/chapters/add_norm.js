// @ts-check
/** Add & Norm: what is left of signal and gradient in a deep stack with and without them, and of a translation. */

import { Slider } from "../../../components/controls.js";
import { t } from "../../../core/i18n.js";
import { h, useMemo } from "../../../core/ui.js";
import { numberParam } from "../../../core/url.js";
import { DEPTHS, deepStack } from "../../../math/lesson.js";
import { NeedsModel, Outputs, readyModel, useTranslation, Verdict } from "../parts.js";

/** @import { StackKind } from "../../../math/lesson.js" */
/** @import { Store } from "../../../core/store.js" */
/** @import { Chapter, ResultProps } from "../chapter.js" */

const MODEL = "en-fr";
const SENTENCE = "Where is the train station?";
const KINDS = /** @type {const} */ ({
  plain: "start.add_norm_plain",
  add: "start.add_norm_add",
  add_norm: "start.add_norm_both",
});

/** @type {Chapter} */
export const addNormChapter = {
  id: "add-norm",
  title: "start.add_norm_title",
  idea: "start.add_norm_idea",
  question: "start.add_norm_question",
  answers: () => [
    ["half", t("start.add_norm_half")],
    ["hundredth", t("start.add_norm_hundredth")],
    ["nothing", t("start.add_norm_nothing")],
  ],
  Result,
  link: {
    text: "start.add_norm_link",
    state: { view: "translate", model: MODEL, text: SENTENCE, what_if: "1", changes: "without.residual" },
  },
};

/** @param {ResultProps} props */
function Result({ store, guess, setting, onSetting }) {
  const depth = Math.round(numberParam(setting, { min: 1, max: DEPTHS, usual: DEPTHS }));
  const kinds = /** @type {StackKind[]} */ (Object.keys(KINDS));
  const stacks = useMemo(() => kinds.map(deepStack), []);
  const left = stacks[0].gradient[DEPTHS - 1];
  const right = left > 0.1 ? "half" : left > 1e-4 ? "hundredth" : "nothing";
  return [
    h(
      Verdict,
      { store, guess, right, answers: addNormChapter.answers() },
      t("start.add_norm_explained", {
        left: sizeText(left),
        grown: sizeText(stacks[1].signal[DEPTHS - 1]),
        gradient: sizeText(stacks[1].gradient[DEPTHS - 1]),
        signal: sizeText(stacks[2].signal[DEPTHS - 1]),
        kept: sizeText(stacks[2].gradient[DEPTHS - 1]),
      }),
    ),
    h(Slider, {
      label: t("start.add_norm_depth"),
      min: 1,
      max: DEPTHS,
      value: depth,
      onChange: (value) => onSetting(value === DEPTHS ? "" : String(value)),
    }),
    h(
      "div",
      { class: "table-scroll", tabindex: 0, role: "group", "aria-label": t("start.add_norm_table") },
      h(
        "table",
        { class: "numbers" },
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            h("td"),
            h("th", { scope: "col" }, t("start.add_norm_signal")),
            h("th", { scope: "col" }, t("start.add_norm_gradient")),
          ),
        ),
        h(
          "tbody",
          null,
          kinds.map((kind, index) => {
            const [signal, gradient] = [stacks[index].signal[depth - 1], stacks[index].gradient[depth - 1]];
            return h(
              "tr",
              { key: kind },
              h("th", { scope: "row" }, t(KINDS[kind])),
              h("td", { "data-value": String(signal) }, sizeText(signal)),
              h("td", { "data-value": String(gradient) }, sizeText(gradient)),
            );
          }),
        ),
      ),
    ),
    h(InTheModel, { store }),
  ];
}

/** @param {number} value */
function sizeText(value) {
  if (value >= 1000) return Math.round(value).toLocaleString("en");
  if (value >= 0.01) return value.toFixed(2);
  const [digits, exponent] = value.toExponential(1).split("e-");
  return `${digits}\u00a0×\u00a010⁻${[...exponent].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]).join("")}`;
}

/** @param {{ store: Store }} props */
function InTheModel({ store }) {
  const model = readyModel(store, MODEL);
  const whole = useTranslation(store, model, SENTENCE);
  const withoutAdd = useTranslation(store, model, SENTENCE, ["without.residual"]);
  const withoutNorm = useTranslation(store, model, SENTENCE, ["without.layer-norm"]);
  if (!model) return h(NeedsModel, { names: [MODEL] });
  return [
    h("p", null, t("start.add_norm_model", { model: MODEL, sentence: SENTENCE })),
    h(Outputs, {
      rows: [
        { name: t("start.unchanged"), query: whole },
        { name: t("start.add_norm_no_add"), query: withoutAdd },
        { name: t("start.add_norm_no_norm"), query: withoutNorm },
      ],
    }),
  ];
}
