/** Any picture as a file: SVG as it is drawn, PNG at twice its size. */

import { h } from "./make.js";
import { t } from "./text.js";

const PNG_SCALE = 2;

/** Two buttons that save what `getSvg()` returns (an <svg> element with width, height and its own colours). */
export function savingButtons(getSvg, name) {
  const save = (kind, make) => async () => download(await make(getSvg()), `${fileName(name)}.${kind}`);
  return h(
    "span",
    { class: "saving", role: "group", "aria-label": t("saving.label") },
    h("button", { type: "button", class: "quiet", title: t("saving.svg"), onclick: save("svg", svgBlob) }, "SVG"),
    h("button", { type: "button", class: "quiet", title: t("saving.png"), onclick: save("png", pngBlob) }, "PNG"),
  );
}

/** The file's content of an <svg> element. */
export function svgBlob(picture) {
  return new Blob([new XMLSerializer().serializeToString(picture)], { type: "image/svg+xml" });
}

/** The picture painted at twice its size. */
export async function pngBlob(picture) {
  const image = await loadedImage(svgBlob(picture));
  const canvas = h("canvas", {
    width: Math.ceil(Number(picture.getAttribute("width")) * PNG_SCALE),
    height: Math.ceil(Number(picture.getAttribute("height")) * PNG_SCALE),
  });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

async function loadedImage(blob) {
  const address = URL.createObjectURL(blob);
  const image = new Image();
  image.src = address;
  try {
    await image.decode();
  } finally {
    URL.revokeObjectURL(address);
  }
  return image;
}

function download(blob, name) {
  const address = URL.createObjectURL(blob);
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function fileName(name) {
  return (
    String(name)
      .replace(/[^\p{L}\p{N}_-]+/gu, "-")
      .replace(/^-+|-+$/g, "")
      .slice(0, 60) || "regard"
  );
}
