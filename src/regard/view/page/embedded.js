/** The API's answers for one sentence, out of data that stands in the page: for a file on disk and for a notebook. */

import { ApiError } from "./api.js";
import { blockOf, spokenOf } from "./embedded_around.js";
import { arrayOf, part } from "./embedded_arrays.js";
import { embeddedRun } from "./embedded_run.js";

const NEARLY = 0.5; // as in regard.metrics.word_attention: looked at nearly as much as the most looked-at word

/** The same methods as Api, over embedded data (its shape stands at the top of api.js). */
export function embeddedApi(data) {
  const absent = async () => {
    throw new ApiError("embedded", "this file holds one sentence; start `regard serve` for more");
  };
  const held = (id) => data.pictures?.[id] ?? data;
  return {
    isEmbedded: true,
    sourceText: data.source,
    models: async () => ({ models: data.models }),
    traces: async () => data.trace,
    weights: async (id, { layer, head = "mean" }) => headWeights(arrayOf(held(id).weights[layer]), head),
    rollout: async () => (data.rollout ? matrixOf(arrayOf(data.rollout)) : absent()),
    inside: async (id, place) => (held(id).details?.[place.layer] ? insideOf(held(id), place) : absent()),
    alignment: async (id, reading) => embeddedAlignment(data, reading),
    positions: async (model, length) => (data.positions ? learnedPositions(data.positions, length) : absent()),
    examples: async () => ({
      examples: [{ source: data.source, target: data.trace.text, links: data.gold ?? null }],
    }),
    readings: absent,
    translate: absent,
    complete: absent,
    fill: absent,
    quality: async () => null,
    qualityBucket: absent,
    runs: async () => ({ runs: [] }),
    runEvents: absent,
    probes: absent,
    runPictures: absent,
    probePicture: absent,
    probeWeights: absent,
    stream: async function* () {
      yield { ...(data.trace.translation ?? { text: data.trace.text }), event: "done" };
    },
    pictures: async () => ({ pictures: data.pictures.map(({ trace }, number) => ({ number, captions: [trace.text], has_boxes: false })) }),
    pictureAddress: async (model, number) => data.pictures[number].trace.picture,
    describe: async function* ({ example }) {
      yield { ...data.pictures[example].trace, event: "done" };
    },
    ...(data.run && embeddedRun(data.run)),
  };
}

/** A model's learned table, as far as it goes and is asked for. */
function learnedPositions({ table, trained }, length) {
  const [longest, width] = table.shape;
  return { kind: "learned", layout: null, width, values: part(table).slice(0, length), longest, trained };
}

function matrixOf({ shape: [rows, columns], values }) {
  return { weights: values, rows, columns };
}

/** One head of [heads, queries, keys], or the mean of them. */
function headWeights({ shape: [heads, rows, columns], values }, head) {
  const size = rows * columns;
  if (head !== "mean") return { weights: values.slice(head * size, (Number(head) + 1) * size), rows, columns };
  const weights = new Float32Array(size);
  for (let index = 0; index < values.length; index += 1) weights[index % size] += values[index] / heads;
  return { weights, rows, columns };
}

function insideOf(data, place) {
  const { layer, head, query } = place;
  const kept = data.details[layer];
  const described = data.trace.layers[layer];
  const labels = (side) => data.trace[side === "target" ? "target" : "source"].pieces; // a picture's places are its source
  return {
    layer: described,
    head,
    query_index: query,
    scale: kept.scale,
    is_rotary: kept.is_rotary,
    query_label: labels(described.queries)[query],
    key_labels: labels(described.keys),
    x: part(kept.x, query),
    query: part(kept.query, head, query),
    keys: part(kept.key, head),
    values: part(kept.value, head),
    scores: part(kept.scores, head, query),
    visible: part(kept.visible, query).map(Boolean),
    weights: part(data.weights[layer], head, query),
    context: part(kept.context, head, query),
    query_weight: part(kept.query_weight, head),
    query_bias: part(kept.query_bias, head),
    key_inputs: part(kept.key_inputs),
    key_weight: part(kept.key_weight, head),
    key_bias: part(kept.key_bias, head),
    value_weight: part(kept.value_weight, head),
    value_bias: part(kept.value_bias, head),
    output_weight: part(kept.output_weight, head),
    output_bias: part(kept.output_bias),
    output: part(kept.output, query),
    additive: kept.additive && { ...wholeParts(kept.additive), projected_query: part(kept.additive.projected_query, query) },
    general: kept.general && wholeParts(kept.general),
    block: blockOf(data, place),
    spoken: spokenOf(data, place),
  };
}

/** Every array of a score's own steps as plain lists. */
function wholeParts(arrays) {
  return Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, part(array)]));
}

/** The alignment of words, as regard.translation reads it off a map. */
function embeddedAlignment(data, { layer = "mean", head = "mean", when = "said" }) {
  const { source, target, layers } = data.trace;
  const cross = layers.flatMap((one, index) => (one.use === "cross" ? [index] : []));
  if (!cross.length) throw new ApiError("no_attention", "this model has no attention between target and source");
  const maps = (layer === "mean" ? cross : [cross[layer]]).map((index) => headWeights(arrayOf(data.weights[index]), head));
  const mean = (row, column) => maps.reduce((sum, map) => sum + map.weights[row * map.columns + column], 0) / maps.length;
  const sourceWords = plainWords(source);
  const targetWords = plainWords(target);
  const shift = when === "read" ? 0 : -1; // the piece at i is said by row i - 1
  const weights = targetWords.map(({ pieces }) => sourceWords.map((word) => wordWeight(mean, pieces, word.pieces, shift)));
  return {
    source_words: sourceWords.map((word) => word.spelled),
    target_words: targetWords.map((word) => word.spelled),
    weights,
    links: weights.flatMap((row, at) => linkedTo(row).map((from) => [from, at])),
  };
}

function wordWeight(mean, queries, keys, shift) {
  const sums = queries.map((query) => keys.reduce((sum, key) => sum + mean(query + shift, key), 0));
  return sums.reduce((total, sum) => total + sum, 0) / queries.length;
}

function linkedTo(row) {
  const most = Math.max(...row);
  return row.flatMap((weight, index) => (weight > 0 && weight >= NEARLY * most ? [index] : []));
}

/** The words of a side without <s> and </s>. */
function plainWords(side) {
  return side.words
    .map((pieces, index) => ({ pieces, spelled: side.spelled[index] }))
    .filter(({ pieces }) => !["<s>", "</s>"].includes(side.pieces[pieces[0]]));
}
