/** Where an image comes from: dropped on the page, chosen from a file, or one of the model's examples. */

import { t } from "../core/i18n.js";
import { useQuery } from "../core/query.js";
import { batch, h, useEffect, useMemo, useState } from "../core/ui.js";
import { sendable } from "../data/image_file.js";
import { Card } from "./layout.js";

/** @import { Store } from "../core/store.js" */
/** @import { Backend, ImageExample, Model } from "../data/backend.js" */
/** @import { ImageChoice } from "./use_image_choice.js" */

const THUMB_SIDE = 64; // pixels

/**
 * A card to choose an image with. A file may be dropped anywhere on the page: beside the field, a browser would leave the page to show it.
 * @param {{ store: Store, model: Model, choice: ImageChoice }} props
 */
export function ImagePicker({ store, model, choice }) {
  const { data } = store;
  const [isOver, setOver] = useState(false);
  const offer = async (/** @type {File} */ file, /** @type {AbortSignal} */ signal) => {
    const blob = await sendable(file);
    if (signal.aborted) return;
    batch(() => {
      store.ownImage.value = { blob };
      store.set({ image: "", word: "" });
    });
  };
  const stop = useMemo(() => new AbortController(), []);
  useEffect(() => {
    if (!data.isEmbedded)
      catchDrops({ onOver: setOver, onFile: (file) => offer(file, stop.signal), signal: stop.signal });
    return () => stop.abort();
  }, []);
  const isFixed = data.isEmbedded && choice.examples.length < 2;
  if (isFixed) return null;
  const chosen = choice.given && "example" in choice.given ? choice.given.example : -1;
  const field = h(
    "label",
    { class: isOver ? "picture-drop is-over" : "picture-drop" },
    h("span", null, t("pictures.drop")),
    h("input", {
      type: "file",
      accept: "image/*",
      class: "picture-file",
      onClick: (/** @type {Event & { target: HTMLInputElement }} */ event) => {
        event.target.value = ""; // so that the same file can be chosen again
      },
      onChange: (/** @type {Event} */ event) => {
        const file = /** @type {HTMLInputElement} */ (event.target).files?.[0];
        if (file) offer(file, stop.signal);
      },
    }),
  );
  const examples = choice.examples.map((example) =>
    h(ExampleButton, {
      key: `${model.name}/${example.number}`,
      data,
      model: model.name,
      example,
      isChosen: example.number === chosen,
      onChoose: () => store.set({ image: String(example.number), word: "" }),
    }),
  );
  return h(
    Card,
    { title: t("pictures.given") },
    h(
      "div",
      { class: "stack" },
      !data.isEmbedded && field,
      h("div", { class: "picture-examples", role: "group", "aria-label": t("pictures.examples") }, examples),
    ),
  );
}

/** @param {{ data: Backend, model: string, example: ImageExample, isChosen: boolean, onChoose: () => void }} props */
function ExampleButton({ data, model, example, isChosen, onChoose }) {
  const src = useQuery((signal) => data.exampleImage(model, example.number, { signal }), [model, example.number]).data;
  const label = t("pictures.example", { number: example.number + 1, caption: example.captions[0] });
  const image = h("img", { alt: label, width: THUMB_SIDE, height: THUMB_SIDE, loading: "lazy", src: src ?? undefined });
  return h(
    "button",
    { type: "button", class: "picture-example", title: label, "aria-pressed": String(isChosen), onClick: onChoose },
    image,
  );
}

/** @param {{ onOver: (isOver: boolean) => void, onFile: (file: File) => void, signal: AbortSignal }} options */
function catchDrops({ onOver, onFile, signal }) {
  const listen = (
    /** @type {"dragover" | "dragleave" | "drop"} */ type,
    /** @type {(event: DragEvent) => void} */ act,
  ) => addEventListener(type, (event) => event.dataTransfer?.types.includes("Files") && act(event), { signal });
  listen("dragover", (event) => {
    event.preventDefault();
    onOver(true);
  });
  listen("dragleave", (event) => event.relatedTarget || onOver(false));
  listen("drop", (event) => {
    event.preventDefault();
    onOver(false);
    const file = event.dataTransfer?.files[0];
    if (file) onFile(file);
  });
}
