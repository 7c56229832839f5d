// @ts-check
/** A chart as a file: SVG as it is drawn, PNG at twice its size, both on white paper; its numbers as CSV or JSON. */

import { h, render } from "../core/ui.js";
import { palette } from "./colour.js";

/** @import { Chart, ChartTable } from "./chart.js" */

const PNG_SCALE = 2;

/**
 * The chart as one <svg> that needs no style sheet.
 * @param {Chart<any>} chart
 * @returns {SVGSVGElement}
 */
export function chartSvg({ width, height, title, raster, draw }) {
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` }))
    picture.setAttribute(name, String(value));
  const parts = [
    h("title", null, title),
    h("rect", { width, height, fill: palette(false).paper }),
    raster && rasterImage(raster),
    draw(false),
  ];
  render(h("g", null, parts), picture);
  return picture;
}

/** @param {import("./chart.js").Raster} raster */
function rasterImage({ paint, ...box }) {
  const canvas = document.createElement("canvas");
  paint(canvas, false);
  return h("image", {
    ...box,
    href: canvas.toDataURL("image/png"),
    preserveAspectRatio: "none",
    "image-rendering": "pixelated",
  });
}

/** @typedef {"svg" | "png" | "csv" | "json"} FileKind */

/**
 * @param {Chart<any>} chart
 * @param {FileKind} kind
 */
export async function saveChart(chart, kind) {
  const blob = kind === "svg" || kind === "png" ? await imageFile(chart, kind) : numbersFile(chart, kind);
  const link = Object.assign(document.createElement("a"), {
    href: URL.createObjectURL(blob),
    download: `${fileName(chart.title)}.${kind}`,
  });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/**
 * @param {Chart<any>} chart
 * @param {"csv" | "json"} kind
 */
function numbersFile({ title, table }, kind) {
  const numbers = table?.() ?? { header: [], rows: [] };
  if (kind === "json") return new Blob([JSON.stringify({ title, ...numbers })], { type: "application/json" });
  return new Blob(["\ufeff", csvText(numbers)], { type: "text/csv" }); // with its mark, spreadsheets read UTF-8
}

/**
 * RFC 4180.
 * @param {ChartTable} table
 */
export function csvText({ header, rows }) {
  const field = (/** @type {string | number} */ value) =>
    /[",\r\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
  return [header, ...rows].map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

/**
 * @param {Chart<any>} chart
 * @param {"svg" | "png"} kind
 */
function imageFile(chart, kind) {
  const svg = new Blob([new XMLSerializer().serializeToString(chartSvg(chart))], { type: "image/svg+xml" });
  return kind === "svg" ? svg : asPng(svg, chart);
}

/**
 * @param {Blob} svg
 * @param {{ width: number, height: number }} size
 * @returns {Promise<Blob>}
 */
async function asPng(svg, { width, height }) {
  const image = new Image();
  image.src = URL.createObjectURL(svg);
  await image.decode().finally(() => URL.revokeObjectURL(image.src));
  const canvas = Object.assign(document.createElement("canvas"), {
    width: Math.ceil(width * PNG_SCALE),
    height: Math.ceil(height * PNG_SCALE),
  });
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(/** @type {Blob} */ (blob)), "image/png"));
}

/** @param {string} title */
function fileName(title) {
  const name = title.replace(/[^\p{L}\p{N}_-]+/gu, "-").replace(/^-+|-+$/g, "");
  return name.slice(0, 60) || "regard";
}
