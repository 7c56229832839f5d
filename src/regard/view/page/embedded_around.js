/** What stands around an attention, out of the data of a file: as the API tells it of one position. */

import { part } from "./embedded_arrays.js";

/** One position's way through the block that an attention stands in; null where there is none, or where it was left out. */
export function blockOf(data, { layer, query, inner = 0, outer = 0 }) {
  const kept = data.blocks?.[data.block_of?.[layer]];
  if (!kept) return null;
  const { number, is_last, below, above, head } = kept;
  const subLayers = subLayersAt(kept.sub_layers, query);
  return {
    number,
    is_last,
    below,
    above,
    embedding: kept.embedding && embeddingAt(kept.embedding, query),
    sub_layers: subLayers,
    own: kept.sub_layers.findIndex(({ attention }) => attention === Number(layer)),
    feed_forward: feedForwardAt(kept.feed_forward, query, { inner, outer, around: subLayers.at(-1) }),
    last_norm: normAt(kept.last_norm, query, endOf(subLayers.at(-1))),
    head: head && { activation: head.activation, inner: part(head.inner, query), norm: normAt(head.norm, query) },
  };
}

/** A normalisation of one position; where its x is not written down, it is what left the part before. */
function normAt(norm, query, before = null) {
  if (!norm) return null;
  const { x, gain, bias, epsilon, output } = norm;
  return { x: x ? part(x, query) : before, gain: part(gain), bias: part(bias), epsilon, output: part(output, query) };
}

function embeddingAt({ token, scale, position, output, norm }, query) {
  return { token: part(token, query), scale, position: part(position, query), output: part(output, query), norm: normAt(norm, query) };
}

/** Every sub-layer begins where the one before has ended. */
function subLayersAt(kept, query) {
  return kept.reduce((done, { kind, attention, x: first, pre_norm, found, added, post_norm }) => {
    const x = first ? part(first, query) : endOf(done.at(-1));
    const sum = part(added, query);
    const norms = { pre_norm: normAt(pre_norm, query, x), post_norm: normAt(post_norm, query, sum) };
    return [...done, { kind, attention, x, found: part(found, query), added: sum, ...norms }];
  }, []);
}

function endOf({ added, post_norm }) {
  return post_norm?.output ?? added;
}

function feedForwardAt(network, query, { inner, outer, around }) {
  const row = (name, number) => ({
    [`${name}_number`]: number,
    [`${name}_weight`]: part(network[`${name}_weight`], number),
    [`${name}_bias`]: part(network[`${name}_bias`])?.[number] ?? null,
  });
  return {
    activation: network.activation,
    x: around.pre_norm?.output ?? around.x,
    inner: part(network.inner, query),
    activated: part(network.activated, query),
    output: around.found,
    ...row("inner", inner),
    ...row("outer", outer),
  };
}

/** What may be said at one position, where the output layer follows this attention. */
export function spokenOf(data, { layer, query }) {
  const { spoken } = data;
  const block = data.blocks?.[data.block_of?.[layer]];
  const isLast = block ? block.is_last : !data.has_blocks;
  if (!spoken || !isLast || data.trace.layers[layer].queries !== spoken.side) return null;
  const bias = part(spoken.bias);
  const tokens = spoken.candidates[query].map(({ token, piece, rank, logit, probability, is_said }) => {
    const row = spoken.rows.indexOf(token);
    return { piece, rank, logit, probability, is_said, weight: part(spoken.weight, row), bias: bias?.[row] ?? 0 };
  });
  return { vocabulary: spoken.vocabulary, hidden: part(spoken.hidden, query), log_total: part(spoken.log_totals)[query], tokens };
}
