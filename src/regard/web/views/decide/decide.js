/** Decide: a classifier assigns a class to a text or an image; the probability of each class, and the attention behind the decision. */

import { ImagePicker } from "../../components/image_picker.js";
import { SeenImage, WordPanels } from "../../components/image_words.js";
import { Card, Lead } from "../../components/layout.js";
import { Empty, Loading, NotReady, Problem } from "../../components/placeholders.js";
import { SentenceForm } from "../../components/sentence_form.js";
import { imageRequest, useImageChoice } from "../../components/use_image_choice.js";
import { WeightBars } from "../../components/weight_bars.js";
import { asRequest, captionExperiment, changesOf, textExperiment } from "../../components/what_if/experiment.js";
import { WhatIf } from "../../components/what_if/what_if.js";
import { t } from "../../core/i18n.js";
import { useQuery } from "../../core/query.js";
import { Fragment, h, useEffect } from "../../core/ui.js";
import { partialWord } from "../../math/image_attention.js";

/** @import { GivenImage } from "../../components/use_image_choice.js" */
/** @import { Store } from "../../core/store.js" */
/** @import { UrlState } from "../../core/url.js" */
/** @import { ClassProbability, ClassifiedImage, Model } from "../../data/backend.js" */

const WORLD_CLASSIFIER = "world-classifier"; // comes with regard
const SHOWN_CLASSES = 10;
const COMMANDS = ["regard train --labels reviews.tsv --run runs/reviews", "regard serve runs/reviews"];

export const decideView = {
  id: "decide",
  title: /** @type {const} */ ("decide.title"),
  tasks: ["classification"],
  View: Decide,
};

/** @param {{ store: Store }} props */
function Decide({ store }) {
  const model = store.model.value;
  if (model?.task !== "classification") {
    return h(
      "div",
      { class: "view decide" },
      h(Lead, { title: t("decide.heading") }, t("decide.lead")),
      h(Empty, null, h("p", null, t("decide.none")), h("pre", { class: "command" }, COMMANDS.join("\n"))),
    );
  }
  const Input = model.reads_images ? ImageInput : TextInput;
  return h(
    "div",
    { class: "view decide" },
    h(Lead, { title: t("decide.heading") }, t(leadOf(model))),
    model.is_ready ? h(Input, { store, model }) : h(NotReady, { model }),
  );
}

/** @param {Model} model */
function leadOf(model) {
  if (model.name === WORLD_CLASSIFIER) return "decide.lead_world";
  return model.reads_images ? "decide.lead_image" : "decide.lead";
}

/** @param {{ store: Store, model: Model }} props */
function TextInput({ store, model }) {
  const text = store.text.value;
  return h(
    Fragment,
    null,
    h(SentenceForm, { store }),
    text && h(TextDecision, { key: `${model.name} ${text}`, store, model, text }),
  );
}

/** @param {{ store: Store, model: Model }} props */
function ImageInput({ store, model }) {
  const choice = useImageChoice(store, model);
  const { given, error } = choice;
  const isTooLarge = given && "image" in given && given.image === null;
  return h(
    Fragment,
    null,
    h(ImagePicker, { store, model, choice }),
    error && h(Problem, { error }),
    isTooLarge ? h(Empty, null, t("pictures.large")) : given && h(ImageDecision, { store, model, given }),
  );
}

/** @param {{ store: Store, model: Model, text: string }} props */
function TextDecision({ store, model, text }) {
  const changes = changesOf(store);
  const query = useQuery(
    (signal) =>
      store.traces.classify({ model: model.name, texts: [text], attention: true, ...asRequest(changes) }, { signal }),
    [model.name, text, changes.join("\n")],
    { keepsData: true },
  );
  const found = query.data?.results[0] ?? null;
  useEffect(() => {
    if (found) store.announcement.value = found.label;
  }, [found]);
  const words = (found?.words ?? []).map(({ text: word, weight }) => ({ word, weight, isMark: word === "</s>" }));
  return h(
    Fragment,
    null,
    h(WhatIf, { store, experiment: textExperiment(store, model, text) }),
    query.error && h(Problem, { error: query.error }),
    !found && !query.error && h(Loading, null),
    found &&
      h(
        "div",
        { class: "pairs" },
        h(Classes, { label: found.label, classes: found.classes }),
        words.length > 0 &&
          h(Card, { title: t("decide.words"), explanation: t("decide.words_hint") }, h(WeightBars, { weights: words })),
      ),
    found && h(Links, { store, state: { model: model.name, text } }),
  );
}

/** @param {{ store: Store, model: Model, given: GivenImage }} props */
function ImageDecision({ store, model, given }) {
  const changes = changesOf(store);
  const request = imageRequest(model, given);
  const query = useQuery(
    (signal) => store.traces.captions.get({ ...request, ...asRequest(changes) }, { signal }),
    [model.name, given, changes.join("\n")],
    { keepsData: true },
  );
  const found = /** @type {ClassifiedImage | undefined} */ (/** @type {unknown} */ (query.data ?? undefined));
  useEffect(() => {
    if (found) store.announcement.value = found.label;
  }, [found]);
  return h(
    Fragment,
    null,
    h(WhatIf, { store, experiment: captionExperiment(store, request), trace: found }),
    query.error && h(Problem, { error: query.error }),
    !found && !query.error && h(Loading, null),
    found &&
      h(
        "div",
        { class: "pairs" },
        h(Classes, { label: found.label, classes: found.classes }),
        h(
          Card,
          { title: t("decide.regions"), explanation: t(found.weights.length ? "decide.regions_hint" : "decide.blind") },
          h(
            "div",
            { class: "region-words" },
            h(SeenImage, { image: found.image, label: t("pictures.seen", { model: model.name }) }),
            found.weights.length > 0 &&
              h(
                "div",
                { class: "region-word" },
                h(WordPanels, { grid: found, word: partialWord({ text: found.label, weights: found.weights }, found) }),
              ),
          ),
        ),
      ),
    found && found.layers.length > 0 && h(Links, { store, state: { model: model.name } }),
  );
}

/** @param {{ label: string, classes: ClassProbability[] }} props */
function Classes({ label, classes }) {
  const shown = classes.slice(0, SHOWN_CLASSES).map((one) => ({ word: one.label, weight: one.probability }));
  return h(
    Card,
    { title: t("decide.classes"), explanation: t("decide.classes_hint") },
    h("p", { class: "growing", dir: "auto" }, label),
    h(WeightBars, { weights: shown }),
  );
}

/** @param {{ store: Store, state: UrlState }} props state: what is decided on here */
function Links({ store, state }) {
  const open = () => store.set({ ...state, view: "heads" });
  return h("p", null, h("button", { type: "button", class: "link", onClick: open }, t("language.to_heads")));
}
