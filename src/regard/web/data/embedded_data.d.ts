import type {
  AttentionLayer,
  Caption,
  Model,
  Omitted,
  RecordedExperiment,
  RunProbes,
  RunRecord,
  Trace,
} from "./backend.js";

/** The data of a single file or a notebook, as regard's page_data.py, picture_page.py and run_page.py write it. */
export interface EmbeddedData {
  models: Model[];
  /** The source text. */
  source?: string;
  trace?: Trace;
  /** By the index of the layer in trace.layers: [heads, queries, keys]. */
  weights?: Record<string, PackedArray>;
  rollout?: PackedArray | null;
  /** Left out where a file would grow too large. */
  details?: Record<string, PackedDetails> | null;
  blocks?: PackedBlock[] | null;
  has_blocks?: boolean;
  /** For each of trace.layers the index of its block. */
  block_of?: (number | null)[];
  prediction?: PackedOutput | null;
  /** Learned positions, and how many of them training can have reached. */
  positions?: { table: PackedArray; trained: number } | null;
  gold?: [number, number][] | null;
  experiment?: RecordedExperiment | null;
  /** Further sentences of the same model. */
  others?: Omit<EmbeddedData, "others">[];
  captions?: EmbeddedCaption[];
  run?: EmbeddedRun;
}

export interface EmbeddedCaption extends Omit<EmbeddedData, "models" | "trace"> {
  trace: Caption;
}

/** Float32, little-endian, row by row, in base64. */
export interface PackedArray {
  shape: number[];
  data: string;
}

export interface PackedDetails {
  x: PackedArray;
  query: PackedArray;
  key: PackedArray;
  value: PackedArray;
  key_inputs: PackedArray;
  scores: PackedArray;
  visible: PackedArray;
  context: PackedArray;
  output: PackedArray;
  query_weight?: PackedArray;
  query_bias?: PackedArray;
  key_weight?: PackedArray;
  key_bias?: PackedArray;
  value_weight?: PackedArray;
  value_bias?: PackedArray;
  output_weight?: PackedArray;
  output_bias?: PackedArray;
  scale: number;
  is_rotary: boolean;
  rotary_base: number;
  score_parameters: Record<string, PackedArray>;
  position_bias?: PackedArray;
}

export interface PackedNorm {
  x?: PackedArray;
  gain: PackedArray;
  bias: PackedArray | null;
  epsilon: number;
  is_centered: boolean;
  output: PackedArray;
}

export interface PackedSublayer {
  kind: string;
  attention: number | null;
  x?: PackedArray;
  pre_norm: PackedNorm | null;
  output: PackedArray;
  residual_sum: PackedArray;
  post_norm: PackedNorm | null;
}

/** A block with arrays of all positions. An x that equals the output of the part before is not written again. */
export interface PackedBlock {
  number: number;
  is_last: boolean;
  previous_block: number | null;
  next_block: number | null;
  embedding: {
    token: PackedArray;
    scale: number;
    position: PackedArray | null;
    output: PackedArray;
    norm: PackedNorm | null;
  } | null;
  sublayers: PackedSublayer[];
  feed_forward: PackedFeedForward;
  last_norm: PackedNorm | null;
  head: { activation: string; dense_output: PackedArray; norm: PackedNorm } | null;
}

export interface PackedFeedForward {
  activation: string;
  fc1_output: PackedArray;
  activated: PackedArray;
  fc3_output: PackedArray | null;
  fc1_weight: PackedArray | null;
  fc1_bias: PackedArray | null;
  fc2_weight: PackedArray | null;
  fc2_bias: PackedArray | null;
}

export interface PackedOutput {
  side: AttentionLayer["queries"];
  vocabulary: number;
  hidden: PackedArray;
  log_partitions: PackedArray;
  candidates: {
    token: number;
    piece: string;
    rank: number;
    logit: number;
    probability: number;
    is_chosen: boolean;
  }[][];
  /** Ids of the tokens whose rows of the output layer are in `weight` and `bias`. */
  rows: number[];
  weight: PackedArray;
  bias: PackedArray | null;
}

export interface EmbeddedRun {
  record: RunRecord;
  events: any[];
  probes: RunProbes[];
  /** By step: the index of its answer in `probes`. */
  probes_by_step: Record<string, number>;
  /** By step, of each probe, of each layer. */
  maps: Record<string, PackedLevels[][]>;
  images: { name: string; address: string }[];
  omitted: Omitted | null;
}

/** Weights as whole numbers of 16 or 8 bits; `levels` stands for 1. */
export interface PackedLevels {
  shape: [heads: number, queries: number, keys: number];
  levels: number;
  data: string;
}
