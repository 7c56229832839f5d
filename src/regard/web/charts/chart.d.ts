import type { ComponentChildren } from "../core/ui.js";

/** Cells that are painted below the drawing, where there are too many for SVG. */
export interface Raster {
  x: number;
  y: number;
  width: number;
  height: number;
  paint(canvas: HTMLCanvasElement, dark: boolean): void;
}

/** The numbers of a chart: the names of its columns, then its rows; the first column names the rows. */
export interface ChartTable {
  header: string[];
  rows: (string | number)[][];
}

/**
 * One chart. A chart module has one function, `(data, size) => Chart`; it is pure, knows nothing of the page, and is tested in Node.
 * `Plot` (plot.js) puts any chart on the page: pointer, arrow keys, what is read out, a table, and saving as SVG, PNG and CSV.
 */
export interface Chart<Cell> {
  /** How the page frames it: cells between labels, cells between axes, or curves. */
  kind?: "map" | "field" | "lines";
  title: string;
  /** The number that is drawn darkest, where colours stand for numbers. */
  scale?: number;
  width: number;
  height: number;
  draw(dark: boolean): ComponentChildren;
  raster?: Raster;
  /** The cell at a position of the drawing. */
  hit(x: number, y: number): Cell | null;
  /** Where a key leads from a cell; undefined where the key has no meaning. */
  step(cell: Cell | null, key: string): Cell | undefined;
  /** Whether a cell exists; a cursor outlives the chart that it was set on. */
  holds?(cell: Cell): boolean;
  cursor(cell: Cell, dark: boolean): ComponentChildren;
  describe(cell: Cell, dark: boolean): ComponentChildren;
  table?(): ChartTable;
}
