// @ts-check
/** Images: where a captioner attends at each word. */

import { Segmented } from "../../../components/controls.js";
import { SeenImage, WordPanels } from "../../../components/image_words.js";
import { Loading, Problem } from "../../../components/placeholders.js";
import { t } from "../../../core/i18n.js";
import { useQuery } from "../../../core/query.js";
import { h } from "../../../core/ui.js";
import { hitsBox, wordMaps } from "../../../math/image_attention.js";
import { NeedsModel, readyModel, Verdict } from "../parts.js";

/** @import { Store } from "../../../core/store.js" */
/** @import { Chapter, ChapterProps, ResultProps } from "../chapter.js" */

const MODEL = "scenes";
const IMAGES = ["0", "1", "2", "3"];
const FIRST = "2";

/** @type {Chapter} */
export const imagesChapter = {
  id: "images",
  title: "start.images_title",
  idea: "start.images_idea",
  question: "start.images_question",
  answers: () => [
    ["whole", t("start.images_whole")],
    ["named", t("start.images_named")],
    ["centre", t("start.images_centre")],
  ],
  Setup,
  Result,
  link: { text: "start.images_link", state: { view: "pictures", model: MODEL } },
};

/** @param {ChapterProps} props */
function Setup({ store, setting }) {
  const model = readyModel(store, MODEL);
  const example = imageOf(setting);
  const image = useQuery(model && ((signal) => store.data.exampleImage(MODEL, Number(example), { signal })), [
    model?.name,
    example,
  ]);
  return image.data
    ? h("img", { class: "picture-seen", src: image.data, alt: t("start.images_alt"), width: 160, height: 160 })
    : null;
}

/** @param {string} setting */
function imageOf(setting) {
  return IMAGES.includes(setting) ? setting : FIRST;
}

/** @param {ResultProps} props */
function Result({ store, guess, setting, onSetting }) {
  const model = readyModel(store, MODEL);
  const example = imageOf(setting);
  const query = useCaption(store, Boolean(model), Number(example));
  const verdict = (/** @type {string} */ text) =>
    h(Verdict, { store, guess, right: "named", answers: imagesChapter.answers() }, text);
  if (!model) return [verdict(t("start.images_explained")), h(NeedsModel, { names: [MODEL] })];
  const choice = h(Segmented, {
    label: t("start.images_choice"),
    options: IMAGES.map((number) => /** @type {[string, string]} */ ([number, String(Number(number) + 1)])),
    value: example,
    onChange: (/** @type {string} */ number) => onSetting(number === FIRST ? "" : number),
  });
  const field = h("div", { class: "field" }, t("start.images_choice"), choice);
  if (query.error) return [verdict(t("start.images_explained")), field, h(Problem, { error: query.error })];
  if (!query.data) return [verdict(t("start.images_explained")), field, h(Loading)];
  const { caption, words } = query.data;
  const isRight = caption.gold?.words.join(" ") === words.map(({ text }) => text).join(" ");
  const boxesOf = (/** @type {number} */ index) => (isRight ? (caption.gold?.boxes[index] ?? []) : []);
  const named = words.filter((_, index) => boxesOf(index).length);
  const hits = words.filter(({ peak }, index) => boxesOf(index).length && hitsBox(peak, caption, boxesOf(index)));
  return [
    verdict(t("start.images_explained")),
    field,
    h("p", { class: "caption-text", lang: "en" }, caption.text),
    h(
      "div",
      { class: "region-words" },
      h(SeenImage, { image: caption.image, label: t("start.images_alt") }),
      words.map((word, index) =>
        h("div", { key: index, class: "region-word" }, h(WordPanels, { grid: caption, word, boxes: boxesOf(index) })),
      ),
    ),
    named.length > 0 && h("p", null, t("start.images_hits", { hits: hits.length, count: named.length })),
  ];
}

/**
 * The caption of an example image, and the map of each of its words.
 * @param {Store} store
 * @param {boolean} isReady
 * @param {number} example
 */
function useCaption(store, isReady, example) {
  return useQuery(
    isReady &&
      ((signal) =>
        store.traces.captions.withTrace(
          { model: MODEL, example },
          async (caption) => {
            const layer = caption.layers.findLastIndex(({ role }) => role === "image-cross");
            const { weights } = await store.data.weights(caption.id, { layer, head: "mean" }, { signal });
            return { caption, words: wordMaps(caption.target, caption, weights) };
          },
          { signal },
        )),
    [isReady, example],
    { keepsData: true },
  );
}
