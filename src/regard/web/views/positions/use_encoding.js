/** Which encoding the view shows: a formula, or the table of the chosen model. */

import { useQuery } from "../../core/query.js";
import { paramsOf } from "../../core/store.js";
import { useMemo } from "../../core/ui.js";
import { numberParam } from "../../core/url.js";
import { takesText } from "../../data/models.js";
import {
  countEncoding,
  encodingFromRows,
  fractionEncoding,
  randomEncoding,
  sinusoidalEncoding,
} from "../../math/positions.js";

/** @import { Store } from "../../core/store.js" */
/** @import { PositionTable } from "../../data/backend.js" */
/** @import { Encoding, MakeEncoding } from "../../math/positions.js" */

const PARAMS = { kind: "sinusoidal", length: "60", width: "64" };
export const OWN = "own"; // the chosen model's
export const FORMULAS = {
  sinusoidal: sinusoidalEncoding,
  count: countEncoding,
  fraction: fractionEncoding,
  random: randomEncoding,
};
export const SHORTEST = 4;
const LONGEST_SHOWN = 200;
const BEYOND = 60; // so many rows that were never trained can be shown
const WIDTHS = [4, 256];

/** @typedef {keyof typeof FORMULAS} FormulaKind */
/**
 * @typedef {object} EncodingState
 * @property {FormulaKind | "own"} kind
 * @property {PositionTable | null} own the chosen model's table, where it has one
 * @property {PositionTable | null} table the same where it is shown
 * @property {number} length
 * @property {number} longest
 * @property {number} width
 * @property {number | null} trained how many positions training can have reached; null where nothing is trained
 * @property {MakeEncoding | null} make
 * @property {Encoding | null} encoding
 * @property {Error | null} error
 */

/**
 * @param {Store} store
 * @returns {EncodingState}
 */
export function useEncoding(store) {
  const params = paramsOf(store, PARAMS);
  const model = store.model.value;
  const name = takesText(model) ? model?.name : undefined; // a server refuses to answer for a captioner
  const answer = useQuery(name && ((signal) => store.data.positions(name, SHORTEST, { signal })), [name]);
  const own = answer.data?.values ? answer.data : null; // a recurrent model has none
  const isLoading = params.kind === OWN && answer.isLoading;
  const kind = kindOf(params.kind, own !== null || isLoading);
  const table = kind === OWN ? own : null;
  const trained = table?.trained ?? null;
  const longest = longestShown(table);
  const length = Math.round(numberParam(params.length, { min: SHORTEST, max: longest }));
  const width = table?.width ?? Math.round(numberParam(params.width, { min: WIDTHS[0], max: WIDTHS[1] }));
  const rows = useQuery(
    table && name && ((signal) => tableMaker(store, { name, table, length }, signal)),
    [table, name, length],
    { keepsData: true },
  );
  const make = useMemo(
    () => (kind === OWN ? null : (/** @type {number} */ wanted) => FORMULAS[kind](wanted, width)),
    [kind, width, length],
  );
  const current = make ?? (table ? rows.data : null);
  const encoding = useMemo(() => current?.(length) ?? null, [current, rows.isLoading ? null : length]);
  return { kind, own, table, length, longest, width, trained, make: current, encoding, error: rows.error };
}

/**
 * @param {string} kind
 * @param {boolean} hasOwn
 * @returns {FormulaKind | "own"}
 */
function kindOf(kind, hasOwn) {
  if (kind === OWN) return hasOwn ? OWN : "sinusoidal";
  return Object.hasOwn(FORMULAS, kind) ? /** @type {FormulaKind} */ (kind) : "sinusoidal";
}

/**
 * A learned table is shown some way beyond the end of its training.
 * @param {PositionTable | null} table
 */
function longestShown(table) {
  const trained = table?.trained ?? null;
  if (!table || trained === null) return LONGEST_SHOWN;
  return Math.max(LONGEST_SHOWN, Math.min(table.max_positions ?? 0, trained + BEYOND, 2 * LONGEST_SHOWN));
}

/**
 * The model's table as a function of the length: fetched for the lengths that the criteria need, null where it ends sooner.
 * @param {Store} store
 * @param {{ name: string, table: PositionTable, length: number }} request
 * @param {AbortSignal} signal
 * @returns {Promise<MakeEncoding>}
 */
async function tableMaker({ data }, { name, table, length }, signal) {
  const rows = async (/** @type {number} */ wanted) => {
    const encoding = encodingFromRows((await data.positions(name, wanted, { signal })).values ?? []);
    return encoding.length === wanted ? encoding : null;
  };
  const [first, second] = [await rows(length), await rows(length)];
  /** @type {Map<number, Encoding | null>} */
  const longer = new Map([[length * 2, await rows(length * 2).catch(() => null)]]);
  const isMeasured = length * 10 <= (table.trained ?? length * 10);
  if (isMeasured) longer.set(length * 10, await rows(length * 10).catch(() => null));
  let calls = 0;
  return (wanted) => {
    if (wanted !== length) return longer.get(wanted) ?? null;
    calls += 1;
    return calls > 1 ? second : first;
  };
}
