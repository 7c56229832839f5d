/**
 * Interventions in the form of the address, the command line and the API: "cross.2.1=zero", "hide.source.4". Numbers in
 * such a string count from 1, "*" is all of them; everywhere else in the page numbers count from 0 and null is all.
 */

/** @typedef {{ role: string, layer: number | null, head: number | null }} HeadAddress */
/** @typedef {"zero" | "mean" | "uniform"} HeadAction */
/**
 * @typedef {{ kind: "head", action: string } & HeadAddress
 *   | { kind: "weights", query: number | null, keys: number[], weight: number | null } & HeadAddress
 *   | { kind: "hide", side: string, position: number, scope: string }
 *   | { kind: "without", part: string, scope: string }
 *   | { kind: "other" }} Intervention weight null: the whole row is moved to these keys
 */

export const MOST_INTERVENTIONS = 32; // that a server accepts
const ROLE = "(?:encoder-self|decoder-self|cross|image-cross|image-self)";
const HEAD = new RegExp(`^(${ROLE})\\.(\\d+|\\*)\\.(\\d+|\\*)(.*)$`);

/** @param {string | undefined} text the parameter of the address: one intervention on each line */
export function parseList(text) {
  return (text ?? "").split("\n").filter(Boolean);
}

/** @param {string[]} list */
export function formatList(list) {
  return list.join("\n");
}

/**
 * @param {string} text
 * @returns {Intervention} "other" for what the page itself never makes: it is listed as it is written
 */
export function parseIntervention(text) {
  const hidden = /^hide\.(source|target|image)\.(\d+)(?::(.+))?$/.exec(text);
  if (hidden) return { kind: "hide", side: hidden[1], position: Number(hidden[2]) - 1, scope: hidden[3] ?? "" };
  const without = /^without\.([a-z-]+)(?::(.+))?$/.exec(text);
  if (without) return { kind: "without", part: without[1], scope: without[2] ?? "" };
  const [, role, layer, head, rest] = HEAD.exec(text) ?? [];
  if (!role) return { kind: "other" };
  const address = { role, layer: indexOf(layer), head: indexOf(head) };
  const action = /^=(zero|mean|uniform)$/.exec(rest);
  if (action) return { kind: "head", action: action[1], ...address };
  const moved = /^@(\d+|\*)>([\d,]+)$/.exec(rest);
  if (moved) {
    const keys = moved[2].split(",").map((key) => Number(key) - 1);
    return { kind: "weights", query: indexOf(moved[1]), keys, weight: null, ...address };
  }
  const cell = /^@(\d+|\*):(\d+)=([\d.]+)$/.exec(rest);
  if (!cell) return { kind: "other" };
  return { kind: "weights", query: indexOf(cell[1]), keys: [Number(cell[2]) - 1], weight: Number(cell[3]), ...address };
}

/** @param {string} text */
function indexOf(text) {
  return text === "*" ? null : Number(text) - 1;
}

/** @param {number | null} index */
function numberOf(index) {
  return index === null ? "*" : String(index + 1);
}

/** @param {HeadAddress} address */
function headText({ role, layer, head }) {
  return `${role}.${numberOf(layer)}.${numberOf(head)}`;
}

/**
 * @param {HeadAddress} address
 * @param {HeadAction} action
 */
export function headIntervention(address, action) {
  return `${headText(address)}=${action}`;
}

/**
 * @param {string} side
 * @param {number} position
 */
export function hideIntervention(side, position) {
  return `hide.${side}.${position + 1}`;
}

/** @param {string} part */
export function withoutIntervention(part) {
  return `without.${part}`;
}

/**
 * The attention of some queries to some keys: 1 moves all weight there, 0 takes all away. Between the two there can be one
 * key only, since setting the weight of a second key scales the first again.
 * @param {HeadAddress} address
 * @param {number[]} queries
 * @param {number[]} keys
 * @param {number} weight
 */
export function weightInterventions(address, queries, keys, weight) {
  const rowText = (/** @type {number} */ query) => `${headText(address)}@${query + 1}`;
  if (weight === 1) return queries.map((query) => `${rowText(query)}>${keys.map((key) => key + 1).join(",")}`);
  const share = Number(weight.toFixed(2));
  return queries.flatMap((query) => keys.map((key) => `${rowText(query)}:${key + 1}=${share}`));
}

/**
 * The list with other weights between these queries and keys; null: as the model has them.
 * @param {string[]} list
 * @param {HeadAddress} address
 * @param {number[]} queries
 * @param {number[]} keys
 * @param {number | null} weight
 */
export function withWeight(list, address, queries, keys, weight) {
  const head = headText(address);
  const isReplaced = (/** @type {string} */ text) => {
    const found = parseIntervention(text);
    if (found.kind !== "weights" || headText(found) !== head) return false;
    if (found.query === null || !queries.includes(found.query)) return false;
    return found.keys.some((key) => keys.includes(key));
  };
  const kept = list.filter((text) => !isReplaced(text));
  return weight === null ? kept : [...kept, ...weightInterventions(address, queries, keys, weight)];
}

/**
 * The list with some interventions if one of them is missing, else without them.
 * @param {string[]} list
 * @param {string[]} toggled
 */
export function toggle(list, toggled) {
  const kept = list.filter((text) => !toggled.includes(text));
  return toggled.every((text) => list.includes(text)) ? kept : [...kept, ...toggled];
}

/**
 * The list with a head disabled, or enabled again where it was disabled in any way.
 * @param {string[]} list
 * @param {HeadAddress} address
 * @param {HeadAction} action
 */
export function toggleHead(list, address, action) {
  const head = headText(address);
  const kept = list.filter((text) => {
    const found = parseIntervention(text);
    return found.kind !== "head" || headText(found) !== head;
  });
  return kept.length < list.length ? kept : [...list, headIntervention(address, action)];
}

/**
 * What replaces a head's output, also where all heads of its layer or role are named; null: nothing does.
 * @param {string[]} list
 * @param {HeadAddress} address
 * @returns {string | null}
 */
export function headAction(list, { role, layer, head }) {
  const covers = (/** @type {number | null} */ named, /** @type {number | null} */ index) =>
    named === null || named === index;
  const actions = list.map(parseIntervention).flatMap((found) => {
    if (found.kind !== "head" || found.role !== role) return [];
    return covers(found.layer, layer) && covers(found.head, head) ? [found.action] : [];
  });
  return actions.at(-1) ?? null;
}

/**
 * The interventions that mean the same for another text: those without a position.
 * @param {string[]} list
 */
export function withoutPositions(list) {
  return list.filter((text) => !/^(hide|patch)\.|^prefix=|@/.test(text));
}
