/** Where an image comes from: dropped on the page, chosen from a file, or one of the model's examples. */

import { t } from "../core/i18n.js";
import { useQuery } from "../core/query.js";
import { batch, h, useEffect, useMemo, useState } from "../core/ui.js";
import { Card } from "./controls.js";

/** @import { Store } from "../core/store.js" */
/** @import { Backend, ImageExample, Model } from "../data/backend.js" */
/** @typedef {{ example: number } | { image: Blob | null }} GivenImage an image of null is too large to send */
/** @typedef {{ examples: ImageExample[], given: GivenImage | null, isLoading: boolean, error: Error | null }} ImageChoice */

const LARGEST_FILE = 4_000_000; // bytes that a server accepts; a larger image is scaled down here
const MOST_PIXELS = 25_000_000; // that a server decodes, however small the file
const LARGEST_SIDE = 1024; // pixels of an image that was scaled down
const THUMB_SIDE = 64; // pixels

/**
 * The image that a view shows: the example in the address, else the reader's own file, else the first example.
 * @param {Store} store
 * @param {Model | null} model
 * @returns {ImageChoice}
 */
export function useImageChoice(store, model) {
  const { data, ownImage } = store;
  const query = useQuery(model && ((signal) => data.exampleImages(model.name, { signal })), [model?.name]);
  const examples = query.data?.examples ?? [];
  const { image } = store.url.value;
  const own = ownImage.value;
  const isLoading = query.isLoading;
  const given = useMemo(
    () => (isLoading ? null : givenImage(examples, image, own)),
    [isLoading, examples.length, model?.name, image, own],
  );
  return { examples, given, isLoading, error: query.error };
}

/**
 * The request for what a model makes of an image: a caption, or a class.
 * @param {Pick<Model, "name" | "task">} model
 * @param {GivenImage | null} given
 */
export function imageRequest({ name, task }, given) {
  return { model: name, ...given, ...(task === "classification" && { classifies: true }) };
}

/**
 * @param {ImageExample[]} examples
 * @param {string | undefined} image the parameter of the address
 * @param {{ blob: Blob | null } | null} own
 * @returns {GivenImage | null}
 */
export function givenImage(examples, image, own) {
  const number = /^\d+$/.test(image ?? "") ? Number(image) : -1;
  if (examples.some((example) => example.number === number)) return { example: number };
  if (own) return { image: own.blob };
  return examples.length ? { example: examples[0].number } : null;
}

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

/**
 * A file in a size that a server accepts; null where that cannot be had. A format that the browser cannot read is sent as it is: the server may.
 * @param {File} file
 * @returns {Promise<Blob | null>}
 */
async function sendable(file) {
  const bitmap = await createImageBitmap(file).catch(() => null);
  const isSmall = file.size <= LARGEST_FILE && (!bitmap || bitmap.width * bitmap.height <= MOST_PIXELS);
  const blob = isSmall ? file : bitmap && (await scaledDown(bitmap));
  bitmap?.close();
  return blob;
}

/** @param {ImageBitmap} bitmap */
function scaledDown(bitmap) {
  const scale = Math.min(1, LARGEST_SIDE / Math.max(bitmap.width, bitmap.height));
  const side = (/** @type {number} */ length) => Math.max(1, Math.round(length * scale));
  const canvas = new OffscreenCanvas(side(bitmap.width), side(bitmap.height));
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob({ type: "image/jpeg", quality: 0.92 });
}
