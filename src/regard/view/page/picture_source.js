/** Where a picture comes from: dropped, chosen from a file, or one of the model's own examples. */

import { clear, h } from "./make.js";
import { t } from "./text.js";

const LARGEST_FILE = 4_000_000; // bytes that a server takes; a larger picture is made smaller here
const MOST_PIXELS = 25_000_000; // that a server opens, however small their file
const LARGEST_SIDE = 1024; // pixels of a picture that was made smaller

/**
 * A field to choose a picture with, and examples; `choose({picture} or {example})` is told of one. A picture may be dropped
 * anywhere on the page until `signal` aborts: beside the field, a browser would leave the page to show it.
 */
export function pictureSource(app, choose, signal) {
  const input = h("input", {
    type: "file", accept: "image/*", id: "picture-file",
    onclick: () => (input.value = ""), // so that the same file can be chosen again
    onchange: () => input.files[0] && offer(input.files[0], choose),
  });
  const field = h("label", { class: "picture-drop", for: "picture-file" }, h("span", null, t("pictures.drop")), input);
  const examples = h("div", { class: "picture-examples", role: "group", "aria-label": t("pictures.examples") });
  if (!app.api.isEmbedded) catchDrops(field, choose, signal);
  return {
    node: h("div", { class: "stack" }, app.api.isEmbedded ? null : field, examples),
    showExamples: (model) => showExamples(app, examples, model, choose, signal),
    mark: (example) => [...examples.children].forEach((button) => button.setAttribute("aria-pressed", String(Number(button.dataset.number) === example))),
  };
}

function catchDrops(field, choose, signal) {
  const holdsFile = (event) => event.dataTransfer?.types.includes("Files");
  const listen = (type, act) => addEventListener(type, (event) => holdsFile(event) && act(event), { signal });
  listen("dragover", (event) => {
    event.preventDefault();
    field.classList.add("is-over");
  });
  listen("dragleave", (event) => event.relatedTarget || field.classList.remove("is-over"));
  listen("drop", (event) => {
    event.preventDefault();
    field.classList.remove("is-over");
    if (event.dataTransfer.files[0]) offer(event.dataTransfer.files[0], choose);
  });
}

/** A picture is sent as it is where a server takes it so; a file that the browser cannot read, perhaps the server can. */
async function offer(file, choose) {
  const bitmap = await createImageBitmap(file).catch(() => null);
  const isSmall = file.size <= LARGEST_FILE && (!bitmap || bitmap.width * bitmap.height <= MOST_PIXELS);
  const picture = isSmall ? file : bitmap && (await smaller(bitmap));
  bitmap?.close();
  choose({ picture });
}

/** The picture at a size that can be sent, upright as the camera saw it. */
async function smaller(bitmap) {
  const scale = Math.min(1, LARGEST_SIDE / Math.max(bitmap.width, bitmap.height));
  const canvas = h("canvas", { width: Math.max(1, Math.round(bitmap.width * scale)), height: Math.max(1, Math.round(bitmap.height * scale)) });
  canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", 0.92));
}

/** Small pictures of the model's own validation set, where the server has it; returns how many there are. */
async function showExamples(app, node, model, choose, signal) {
  const { pictures } = await app.api.pictures(model, { signal }).catch(() => ({ pictures: [] }));
  if (signal.aborted) return 0;
  clear(node, pictures.map(({ number, captions }) => {
    const label = t("pictures.example", { number: number + 1, caption: captions[0] });
    const image = h("img", { alt: label, width: 64, height: 64, loading: "lazy" });
    app.api.pictureAddress(model, number).then((address) => (image.src = address), () => null);
    const attributes = { type: "button", class: "picture-example", title: label, "aria-pressed": "false", "data-number": number };
    return h("button", { ...attributes, onclick: () => choose({ example: number }) }, image);
  }));
  return pictures.length;
}
