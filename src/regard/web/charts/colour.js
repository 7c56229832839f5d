// @ts-check
/**
 * Colours with a meaning: how dark a weight is drawn, and which line is whose.
 *
 * The ramp goes in even steps of lightness (in OKLab), so it reads the same to every kind of colour vision and in grey.
 */

// Lightness, chroma, hue (degrees) of the weights 0, 1/2 and 1: light paper to deep blue, or dark paper to pale blue.
/** @type {Record<string, number[][]>} */
const RAMPS = {
  light: [
    [0.985, 0.006, 250],
    [0.68, 0.115, 245],
    [0.34, 0.13, 264],
  ],
  dark: [
    [0.235, 0.016, 262],
    [0.56, 0.125, 252],
    [0.93, 0.06, 215],
  ],
};
// Below zero, at zero and above it: every kind of colour vision distinguishes vermilion and blue.
const DIVERGING = {
  light: [
    [178, 71, 0],
    [250, 249, 246],
    [0, 84, 148],
  ],
  dark: [
    [240, 155, 77],
    [26, 30, 38],
    [98, 180, 240],
  ],
};
// Okabe and Ito's colours, dark enough on paper and light enough on ink, told apart by their dashes too.
const SERIES = {
  light: ["#0060a8", "#b34700", "#00785a", "#a0397a", "#6b5a00", "#3b3b3b", "#2f7fae"],
  dark: ["#62b4f0", "#f09b4d", "#35c49c", "#e08fc0", "#e8d23f", "#d0d0d0", "#9ad0f0"],
};
const DASHES = ["", "7 4", "2 3", "9 3 2 3", "4 4", "12 4", "1 4"];
const STEPS = 256;
const EVEN_CONTRAST = 0.179; // the luminance on which both inks stand out alike
/** @type {Record<string, number[][]>} */
const tables = {};

/**
 * The css colour of a weight from 0 to 1.
 * @param {number} weight
 * @param {boolean} dark
 */
export function shade(weight, dark) {
  const [red, green, blue] = shadeBytes(weight, dark);
  return `rgb(${red} ${green} ${blue})`;
}

/**
 * The same colour as three bytes, for painting many.
 * @param {number} weight
 * @param {boolean} dark
 * @returns {number[]}
 */
export function shadeBytes(weight, dark) {
  const table = rampTable(dark ? "dark" : "light");
  const step = Math.round(Math.min(1, Math.max(0, weight || 0)) * (STEPS - 1));
  return table[step];
}

/**
 * The ramp from weight 0 to weight 1 as pixels (RGBA, as ImageData holds them), for painting very many.
 * @param {boolean} dark
 */
export function shadePixels(dark) {
  const bytes = Uint8ClampedArray.from(rampTable(dark ? "dark" : "light").flatMap((colour) => [...colour, 255]));
  return new Uint32Array(bytes.buffer);
}

/**
 * Three bytes for a number from -1 to 1.
 * @param {number} value
 * @param {boolean} dark
 */
export function divergingBytes(value, dark) {
  const [below, zero, above] = DIVERGING[dark ? "dark" : "light"];
  const end = value < 0 ? below : above;
  return zero.map((byte, channel) => Math.round(byte + (end[channel] - byte) * Math.min(1, Math.abs(value) || 0)));
}

/**
 * The colour for text on a weight's colour: whichever of dark and light stands out more.
 * @param {number} weight
 * @param {boolean} dark
 */
export function inkOn(weight, dark) {
  return luminance(shadeBytes(weight, dark)) > EVEN_CONTRAST ? "#000000" : "#ffffff";
}

/**
 * How bright a colour is (WCAG's relative luminance).
 * @param {number[]} bytes
 */
function luminance(bytes) {
  const [red, green, blue] = bytes.map((byte) =>
    byte <= 10 ? byte / 255 / 12.92 : ((byte / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/**
 * The colours of a picture's paper, text and lines.
 * @param {boolean} dark
 */
export function palette(dark) {
  return dark
    ? { paper: "#171a21", ink: "#e9edf4", faint: "#98a2b3", line: "#343b48", gold: "#f0a04b", cursor: "#ffffff" }
    : { paper: "#ffffff", ink: "#1b1f27", faint: "#5a6372", line: "#d9dde4", gold: "#c25100", cursor: "#000000" };
}

/**
 * The colour and dash pattern of line number i; the dashes tell lines apart without colour.
 * @param {number} index
 * @param {boolean} dark
 */
export function series(index, dark) {
  const colours = SERIES[dark ? "dark" : "light"];
  return { colour: colours[index % colours.length], dash: DASHES[index % DASHES.length] };
}

/** @param {string} name */
function rampTable(name) {
  tables[name] ??= Array.from({ length: STEPS }, (_, step) => rampColour(RAMPS[name], step / (STEPS - 1)));
  return tables[name];
}

/**
 * @param {number[][]} stops
 * @param {number} part
 */
function rampColour([first, middle, last], part) {
  const [from, to, along] = part < 0.5 ? [first, middle, part * 2] : [middle, last, part * 2 - 1];
  const even = first[0] + (last[0] - first[0]) * part;
  const [chroma, hue] = [1, 2].map((axis) => from[axis] + (to[axis] - from[axis]) * along);
  return oklchToBytes(even, chroma, (hue * Math.PI) / 180);
}

/**
 * Ottosson's OKLab to sRGB.
 * @param {number} lightness
 * @param {number} chroma
 * @param {number} hue
 */
function oklchToBytes(lightness, chroma, hue) {
  const [a, b] = [chroma * Math.cos(hue), chroma * Math.sin(hue)];
  const long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const short = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
    -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
    -0.0041960863 * long - 0.7034186147 * medium + 1.707614701 * short,
  ].map(linearToByte);
}

/** @param {number} linear */
function linearToByte(linear) {
  const bounded = Math.min(1, Math.max(0, linear));
  const curved = bounded <= 0.0031308 ? 12.92 * bounded : 1.055 * bounded ** (1 / 2.4) - 0.055;
  return Math.round(curved * 255);
}
