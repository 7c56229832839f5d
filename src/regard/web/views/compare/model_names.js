/** How models, layers and heads are named in Compare. */

import { headName } from "../../components/attention_names.js";
import { SCORE_FUNCTIONS } from "../../components/score_functions.js";
import { t } from "../../core/i18n.js";

/** @import { ScoreName } from "../../math/attention.js" */
/** @import { Model, ModelReport } from "../../data/backend.js" */

/** @type {Record<string, "compare.kind_rnn" | "compare.kind_rnn_attention" | "compare.kind_transformer">} */
const KINDS = {
  rnn: "compare.kind_rnn",
  "rnn-attention": "compare.kind_rnn_attention",
  transformer: "compare.kind_transformer",
};
/** @type {Record<string, "compare.wiring_previous" | "compare.wiring_current">} */
const QUERY_STATES = { previous: "compare.wiring_previous", current: "compare.wiring_current" };

/** @param {string} kind */
export function kindName(kind) {
  return kind in KINDS ? t(KINDS[kind]) : kind;
}

/**
 * The attention of an RNN: its score and the state that is the query; null for other models.
 * @param {Pick<Model | ModelReport, "score" | "query_state">} model
 */
export function attentionOfRnn({ score, query_state: state }) {
  if (!state || !(state in QUERY_STATES)) return null;
  const { label } = SCORE_FUNCTIONS[/** @type {ScoreName} */ (score)];
  return t(QUERY_STATES[state], { score: t(label) });
}

/**
 * @param {number | null} layer counted from 1; null: the mean of all
 * @param {number | null} head counted from 1; null: the mean of all
 */
export function layerAndHead(layer, head) {
  const layerName = layer === null ? t("compare.mean_of_layers") : t("heads.layer", { layer });
  return `${layerName}, ${headName(head === null ? "mean" : head - 1)}`;
}
