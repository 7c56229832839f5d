/** Arrays that stand in a file's data, as numbers. */

/** An ARRAY of the embedded data as {shape, values}. */
export function arrayOf({ shape, data }) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  return { shape, values: new Float32Array(bytes.buffer) };
}

/** The rows of an array below its first indices, as plain lists. */
export function part(array, ...indices) {
  if (!array) return null;
  const { shape, values } = arrayOf(array);
  const below = shape.slice(indices.length);
  const size = below.reduce((product, length) => product * length, 1);
  const start = indices.reduce((offset, index, axis) => offset * shape[axis] + index, 0) * size;
  const flat = Array.from(values.subarray(start, start + size));
  return below.length < 2 ? flat : Array.from({ length: below[0] }, (_, row) => flat.slice(row * below[1], (row + 1) * below[1]));
}
