/** Where a picture comes from: dropped, chosen from a file, or one of the model's own examples. */

import { clear, h } from "./make.js";
import { t } from "./text.js";

const LARGEST_FILE = 4_000_000; // bytes that a server takes; a larger picture is made smaller here
const LARGEST_SIDE = 1024; // pixels of a picture that was made smaller

/** A field that a picture can be dropped on, and examples; `choose({picture} or {example, shown})` is told of one. */
export function pictureSource(app, choose) {
  const input = h("input", { type: "file", accept: "image/*", id: "picture-file", onchange: () => input.files[0] && offer(input.files[0], choose) });
  const field = h("label", { class: "picture-drop", for: "picture-file" }, h("span", null, t("pictures.drop")), input);
  field.addEventListener("dragover", (event) => {
    event.preventDefault();
    field.classList.add("is-over");
  });
  field.addEventListener("dragleave", () => field.classList.remove("is-over"));
  field.addEventListener("drop", (event) => {
    event.preventDefault();
    field.classList.remove("is-over");
    if (event.dataTransfer.files[0]) offer(event.dataTransfer.files[0], choose);
  });
  const examples = h("div", { class: "picture-examples", role: "group", "aria-label": t("pictures.examples") });
  return { node: h("div", { class: "stack" }, app.api.isEmbedded ? null : field, examples), showExamples: (model, signal) => showExamples(app, examples, model, choose, signal) };
}

async function offer(file, choose) {
  choose({ picture: file.size <= LARGEST_FILE ? file : await smaller(file) });
}

/** The picture at a size that can be sent, upright as the camera saw it; null where the browser cannot read it. */
async function smaller(file) {
  const bitmap = await createImageBitmap(file).catch(() => null);
  if (!bitmap) return null;
  const scale = Math.min(1, LARGEST_SIDE / Math.max(bitmap.width, bitmap.height));
  const canvas = h("canvas", { width: Math.max(1, Math.round(bitmap.width * scale)), height: Math.max(1, Math.round(bitmap.height * scale)) });
  canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
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
    return h("button", { type: "button", class: "picture-example", title: label, onclick: () => choose({ example: number }) }, image);
  }));
  return pictures.length;
}
