// @ts-check
/** Arrays that are packed as base64, each decoded once. */

/** @import { PackedArray } from "./embedded_data.js" */

/** @type {WeakMap<object, Float32Array>} */
const decoded = new WeakMap();

/** @param {string} data base64 */
export function bytesOf(data) {
  const letters = atob(data);
  const bytes = new Uint8Array(letters.length);
  for (let index = 0; index < letters.length; index += 1) bytes[index] = letters.charCodeAt(index);
  return bytes;
}

/** @param {PackedArray} array */
export function valuesOf(array) {
  const known = decoded.get(array) ?? new Float32Array(bytesOf(array.data).buffer);
  decoded.set(array, known);
  return known;
}

/**
 * The numbers below the first indices of an array, as plain lists: a vector, or rows of one.
 * @param {PackedArray | null | undefined} array
 * @param {...number} indices
 * @returns {any}
 */
export function part(array, ...indices) {
  if (!array) return null;
  const { shape } = array;
  const below = shape.slice(indices.length);
  const size = below.reduce((product, length) => product * length, 1);
  const start = indices.reduce((offset, index, axis) => offset * shape[axis] + index, 0) * size;
  const flat = Array.from(valuesOf(array).subarray(start, start + size));
  if (below.length < 2) return flat;
  return Array.from({ length: below[0] }, (_, row) => flat.slice(row * below[1], (row + 1) * below[1]));
}
