// @ts-check
/** The block around an attention layer and the output layer, from embedded data: as the API gives them for one position. */

import { part } from "./arrays.js";

/** @import { BlockArithmetic, FeedForwardArithmetic, LayerNormArithmetic, OutputArithmetic, SublayerArithmetic } from "./api_types.js" */
/** @import { ArithmeticRequest } from "./backend.js" */
/** @import { EmbeddedData, EmbeddedCaption, PackedBlock, PackedFeedForward, PackedNorm, PackedSublayer } from "./embedded_data.js" */

/**
 * One position in the block of a layer; null where there is no block, or where it was left out.
 * @param {EmbeddedData | EmbeddedCaption} data
 * @param {ArithmeticRequest} request
 * @returns {BlockArithmetic | null}
 */
export function blockSteps(data, { layer, query, fc1_row, fc2_row }) {
  const block = blockOfLayer(data, layer);
  if (!block) return null;
  const { number, is_last, previous_block, next_block, head } = block;
  const subLayers = subLayerSteps(block.sublayers, query);
  const last = subLayers[subLayers.length - 1];
  return /** @type {BlockArithmetic} */ ({
    number,
    is_last,
    previous_block,
    next_block,
    embedding: block.embedding && embeddingSteps(block.embedding, query),
    sublayers: subLayers,
    attention_sublayer: block.sublayers.findIndex(({ attention }) => attention === Number(layer)),
    feed_forward: feedForwardSteps(block.feed_forward, query, last, Number(fc1_row ?? 0), Number(fc2_row ?? 0)),
    last_norm: normSteps(block.last_norm, query, endOf(last)),
    head: head && {
      activation: head.activation,
      dense_output: part(head.dense_output, query),
      norm: normSteps(head.norm, query),
    },
  });
}

/**
 * @param {EmbeddedData | EmbeddedCaption} data
 * @param {number} layer
 */
function blockOfLayer(data, layer) {
  const index = data.block_of?.[layer];
  return index === null || index === undefined ? undefined : data.blocks?.[index];
}

/**
 * A normalisation at one position; an x that is not written is the output of the part before.
 * @param {PackedNorm | null} norm
 * @param {number} query
 * @param {number[] | null} [before]
 * @returns {LayerNormArithmetic | null}
 */
function normSteps(norm, query, before = null) {
  if (!norm) return null;
  const { gain, bias, epsilon, is_centered } = norm;
  const rows = { x: norm.x ? part(norm.x, query) : before, output: part(norm.output, query) };
  return { ...rows, gain: part(gain), bias: part(bias), epsilon, is_centered };
}

/**
 * @param {NonNullable<PackedBlock["embedding"]>} embedding
 * @param {number} query
 */
function embeddingSteps({ token, scale, position, output, norm }, query) {
  const parts = { token: part(token, query), position: part(position, query), output: part(output, query) };
  return { ...parts, scale, norm: normSteps(norm, query) };
}

/**
 * Every sub-layer starts with the output of the one before.
 * @param {PackedSublayer[]} packed
 * @param {number} query
 */
function subLayerSteps(packed, query) {
  /** @type {SublayerArithmetic[]} */
  const steps = [];
  for (const { kind, attention, x: first, pre_norm, output, residual_sum, post_norm } of packed) {
    const x = first ? part(first, query) : endOf(steps[steps.length - 1]);
    const sum = part(residual_sum, query);
    const norms = { pre_norm: normSteps(pre_norm, query, x), post_norm: normSteps(post_norm, query, sum) };
    steps.push(
      /** @type {SublayerArithmetic} */ ({
        kind,
        attention,
        x,
        output: part(output, query),
        residual_sum: sum,
        ...norms,
      }),
    );
  }
  return steps;
}

/** @param {SublayerArithmetic} steps */
function endOf({ residual_sum, post_norm }) {
  return post_norm?.output ?? residual_sum;
}

/**
 * @param {PackedFeedForward} network
 * @param {number} query
 * @param {SublayerArithmetic} subLayer the network's own
 * @param {number} fc1Row
 * @param {number} fc2Row
 * @returns {FeedForwardArithmetic}
 */
function feedForwardSteps(network, query, subLayer, fc1Row, fc2Row) {
  return /** @type {FeedForwardArithmetic} */ ({
    activation: network.activation,
    x: subLayer.pre_norm?.output ?? subLayer.x,
    fc1_output: part(network.fc1_output, query),
    activated: part(network.activated, query),
    fc3_output: part(network.fc3_output, query),
    output: subLayer.output,
    fc1_row: fc1Row,
    fc1_weight: part(network.fc1_weight, fc1Row),
    fc1_bias: part(network.fc1_bias)?.[fc1Row] ?? null,
    fc2_row: fc2Row,
    fc2_weight: part(network.fc2_weight, fc2Row),
    fc2_bias: part(network.fc2_bias)?.[fc2Row] ?? null,
  });
}

/**
 * The output layer at one position, where it follows this layer; else null.
 * @param {EmbeddedData | EmbeddedCaption} data
 * @param {ArithmeticRequest} request
 * @returns {OutputArithmetic | null}
 */
export function outputSteps(data, { layer, query }) {
  const { prediction, trace } = data;
  const block = blockOfLayer(data, layer);
  const isLast = block ? block.is_last : !data.has_blocks;
  if (!prediction || !trace || !isLast || trace.layers[layer].queries !== prediction.side) return null;
  const bias = part(prediction.bias);
  const tokens = prediction.candidates[query].map(({ token, ...candidate }) => {
    const row = prediction.rows.indexOf(token);
    return { ...candidate, weight: part(prediction.weight, row), bias: bias?.[row] ?? 0 };
  });
  const log_partition = part(prediction.log_partitions)[query];
  return { vocabulary: prediction.vocabulary, hidden: part(prediction.hidden, query), log_partition, tokens };
}
