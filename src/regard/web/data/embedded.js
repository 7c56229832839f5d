// @ts-check
/** The Backend interface over data within the page: for a single file and for a notebook. */

import { alignWords } from "../math/alignment.js";
import { part, valuesOf } from "./arrays.js";
import { blockSteps, outputSteps } from "./embedded_block.js";
import { embeddedRun } from "./embedded_run.js";
import { ApiError } from "./errors.js";

/** @import { AlignmentRequest, Arithmetic, ArithmeticRequest, AttentionMap, Backend, PositionTable, Trace } from "./backend.js" */
/** @import { EmbeddedData, EmbeddedCaption, PackedArray } from "./embedded_data.js" */

/**
 * @param {EmbeddedData} data
 * @returns {Backend}
 */
export function embeddedBackend(data) {
  const absent = async () => {
    throw new ApiError("embedded", "this file holds one sentence; start `regard serve` for more");
  };
  const sentences = [data, ...(data.others ?? [])];
  const sentence = (/** @type {string} */ id) => sentences.find(({ trace: own }) => own?.id === id) ?? data;
  const held = (/** @type {string} */ id) => data.captions?.[Number(id)] ?? sentence(id);
  const captions = data.captions ?? [];
  const traceOf = (/** @type {string} */ text) =>
    /** @type {Trace} */ ((sentences.find(({ source }) => source === text) ?? data).trace);
  return {
    isEmbedded: true,
    sourceText: data.source,
    experiment: data.experiment,
    models: async () => ({ models: data.models }),
    examples: async () => ({
      examples: sentences.flatMap(({ source = "", trace: own, gold = null }) =>
        own ? [{ source, target: own.text, links: gold }] : [],
      ),
    }),
    words: absent,
    translate: absent,
    async *stream({ text }) {
      const own = traceOf(text);
      const output = own.translation ?? { text: own.text, score: 0, log_probability: 0 };
      yield { ...output, event: "done" };
    },
    complete: absent,
    fill: absent,
    classify: absent,
    classifyImage: absent,
    traces: async ({ text }) => traceOf(text),
    weights: async (id, { layer, head = "mean" }) => headMap(packedWeights(held(id), layer), head),
    rollout: async (id) => {
      const { rollout } = sentence(id);
      return rollout ? matrixMap(rollout) : absent();
    },
    arithmetic: async (id, request) =>
      held(id).details?.[request.layer] ? arithmeticRecord(held(id), request) : absent(),
    alignment: async (id, request) => alignmentRecord(sentence(id), request),
    normWeights: absent,
    valueZeroing: absent,
    contributions: absent,
    logitLens: absent,
    beam: absent,
    interventionOptions: absent,
    predictions: absent,
    headImportance: absent,
    headAlignment: absent,
    positions: async (_model, length) => (data.positions ? learnedPositions(data.positions, length) : absent()),
    async *caption({ example }) {
      yield { ...captions[example ?? 0].trace, event: "done" };
    },
    exampleImages: async () => ({
      examples: captions.map((caption, number) => ({ number, captions: [caption.trace.text], has_boxes: false })),
    }),
    exampleImage: async (_model, number) => captions[number].trace.image,
    evaluation: async () => null,
    evaluationBucket: absent,
    runs: async () => ({ runs: [] }),
    runEvents: absent,
    probes: absent,
    probeWeights: absent,
    runImages: absent,
    probeImage: absent,
    ...(data.run && embeddedRun(data.run)),
  };
}

/**
 * @param {EmbeddedData | EmbeddedCaption} data
 * @param {number | string} layer
 * @returns {PackedArray}
 */
function packedWeights({ weights }, layer) {
  const packed = weights?.[layer];
  if (!packed) throw new ApiError("embedded", `this file holds no attention layer ${layer}`);
  return packed;
}

/**
 * A model's learned table, as far as it goes and is requested.
 * @param {NonNullable<EmbeddedData["positions"]>} positions
 * @param {number} length
 * @returns {PositionTable}
 */
function learnedPositions({ table, trained }, length) {
  const [max_positions, width] = table.shape;
  return { kind: "learned", layout: null, width, values: part(table).slice(0, length), max_positions, trained };
}

/**
 * @param {PackedArray} array
 * @returns {AttentionMap}
 */
function matrixMap(array) {
  const [rows, columns] = array.shape;
  return { weights: valuesOf(array), rows, columns };
}

/**
 * One head of [heads, queries, keys], or the mean of all.
 * @param {PackedArray} array
 * @param {number | string} head
 * @returns {AttentionMap}
 */
function headMap(array, head) {
  const [heads, rows, columns] = array.shape;
  const values = valuesOf(array);
  const size = rows * columns;
  if (head !== "mean") return { weights: values.slice(Number(head) * size, (Number(head) + 1) * size), rows, columns };
  const weights = new Float32Array(size);
  for (let index = 0; index < values.length; index += 1) weights[index % size] += values[index] / heads;
  return { weights, rows, columns };
}

/**
 * @param {EmbeddedData | EmbeddedCaption} data
 * @param {ArithmeticRequest} request
 * @returns {Arithmetic}
 */
function arithmeticRecord(data, request) {
  const { layer, query } = request;
  const head = Number(request.head);
  const packed = /** @type {NonNullable<EmbeddedData["details"]>} */ (data.details)[layer];
  const trace = /** @type {Trace} */ (data.trace);
  const labels = (/** @type {string} */ side) => trace[side === "target" ? "target" : "source"].pieces; // an image is the source
  return /** @type {Arithmetic} */ ({
    layer: trace.layers[layer],
    head,
    query_index: query,
    scale: packed.scale,
    is_rotary: packed.is_rotary,
    rotary_base: packed.rotary_base,
    position_bias: part(packed.position_bias, head, query),
    query_label: labels(trace.layers[layer].queries)[query],
    key_labels: labels(trace.layers[layer].keys),
    x: part(packed.x, query),
    query: part(packed.query, head, query),
    keys: part(packed.key, head),
    values: part(packed.value, head),
    scores: part(packed.scores, head, query),
    visible: part(packed.visible, query).map(Boolean),
    weights: part(packedWeights(data, layer), head, query),
    context: part(packed.context, head, query),
    query_weight: part(packed.query_weight, head),
    query_bias: part(packed.query_bias, head),
    key_inputs: part(packed.key_inputs),
    key_weight: part(packed.key_weight, head),
    key_bias: part(packed.key_bias, head),
    value_weight: part(packed.value_weight, head),
    value_bias: part(packed.value_bias, head),
    output_weight: part(packed.output_weight, head),
    output_bias: part(packed.output_bias),
    output: part(packed.output, query),
    score_parameters: Object.fromEntries(
      Object.entries(packed.score_parameters).map(([name, array]) => [name, part(array)]),
    ),
    block: blockSteps(data, request),
    prediction: outputSteps(data, request),
  });
}

/**
 * @param {EmbeddedData} data
 * @param {AlignmentRequest} request
 */
function alignmentRecord(data, { layer = "mean", head = "mean", at = "output" }) {
  const { source, target, layers } = /** @type {Trace} */ (data.trace);
  const cross = layers.flatMap(({ role }, index) => (role === "cross" ? [index] : []));
  if (!cross.length) throw new ApiError("no_attention", "this model has no attention between target and source");
  const chosen = layer === "mean" ? cross : [cross[Number(layer)]];
  return alignWords(
    source,
    target,
    chosen.map((index) => headMap(packedWeights(data, index), head)),
    at === "input",
  );
}
