// @ts-check
/** An image file, scaled down where it is too large for a server. */

const LARGEST_FILE = 4_000_000; // bytes that a server accepts; a larger image is scaled down here
const MOST_PIXELS = 25_000_000; // that a server decodes, however small the file
const LARGEST_SIDE = 1024; // pixels of an image that was scaled down

/**
 * A file in a size that a server accepts; null where that cannot be had. A format that the browser cannot read is sent as it is: the server may.
 * @param {File} file
 * @returns {Promise<Blob | null>}
 */
export async function sendable(file) {
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
