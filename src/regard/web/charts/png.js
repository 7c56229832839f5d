/** A small PNG file as a data address, made without a canvas, so that charts stay pure. */

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const GREY_AND_ALPHA = 4; // colour type; 8 bits for each of the two
const LARGEST_BLOCK = 65_535; // bytes of an uncompressed deflate block
const CRC_POLYNOMIAL = 0xedb88320;
const ADLER_MODULUS = 65_521;

/**
 * A black image, as opaque in each pixel as given.
 * @param {ArrayLike<number>} opacity from 0 to 1, row by row
 * @param {{ width: number, height: number }} size
 */
export function blackMask(opacity, { width, height }) {
  const rows = new Uint8Array(height * (1 + 2 * width)); // each row begins with its filter, none
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1)
      rows[y * (1 + 2 * width) + 2 + 2 * x] = Math.round(255 * Math.min(1, Math.max(0, opacity[y * width + x])));
  }
  const header = [...bigEndian(width), ...bigEndian(height), 8, GREY_AND_ALPHA, 0, 0, 0];
  const file = [...SIGNATURE, ...chunk("IHDR", header), ...chunk("IDAT", storedZlib(rows)), ...chunk("IEND", [])];
  return `data:image/png;base64,${btoa(file.map((byte) => String.fromCharCode(byte)).join(""))}`;
}

/**
 * @param {string} name
 * @param {number[]} content
 */
function chunk(name, content) {
  const body = [...name].map((letter) => letter.charCodeAt(0)).concat(content);
  return [...bigEndian(content.length), ...body, ...bigEndian(crc32(body))];
}

/**
 * Bytes in zlib's format, stored rather than compressed: a mask has a few kilobytes.
 * @param {Uint8Array} bytes
 */
function storedZlib(bytes) {
  const stored = [0x78, 0x01];
  for (let start = 0; start < bytes.length; start += LARGEST_BLOCK) {
    const block = bytes.subarray(start, start + LARGEST_BLOCK);
    const isLast = start + LARGEST_BLOCK >= bytes.length;
    stored.push(Number(isLast), block.length & 255, block.length >> 8, ~block.length & 255, (~block.length >> 8) & 255);
    for (const byte of block) stored.push(byte);
  }
  return stored.concat(bigEndian(adler32(bytes)));
}

/** @param {number[]} bytes */
function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ CRC_POLYNOMIAL : crc >>> 1;
  }
  return ~crc;
}

/** @param {Uint8Array} bytes */
function adler32(bytes) {
  let [low, high] = [1, 0];
  for (const byte of bytes) {
    low = (low + byte) % ADLER_MODULUS;
    high = (high + low) % ADLER_MODULUS;
  }
  return high * 65_536 + low;
}

/** @param {number} number */
function bigEndian(number) {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255);
}
