/** Records of /api/v1, written by tests/web/api_types.py from the OpenAPI document. Do not edit. */

export interface ModelsResponse {
  models: ModelRecord[];
}

export interface ModelRecord {
  name: string;
  source: string;
  target: string;
  kind: string;
  score: string | null;
  query_state: string | null;
  parameters: number;
  layers: number;
  heads: number;
  has_attention: boolean;
  max_positions: number | null;
  run: string | null;
  is_ready: boolean;
  task: "classification" | "fill-mask" | "image-to-text" | "text-generation" | "translation";
  reads_images?: boolean;
  fills_masks?: boolean;
}

export interface ErrorResponse {
  error: ErrorDetail;
}

export interface ErrorDetail {
  code: string;
  message: string;
}

export interface WordsResponse {
  words: string[];
}

export interface TranslateRequest {
  interventions?: (string | HeadIntervention | RowIntervention | CellIntervention | HideIntervention | WithoutIntervention | PatchIntervention | DecodeIntervention)[];
  sample?: string[];
  texts: string[];
  model?: string | null;
  source?: string | null;
  target?: string | null;
  beam_size?: number | null;
  nbest?: number;
  align?: boolean;
  split?: boolean;
}

export interface HeadIntervention {
  kind: "head";
  rows?: number[] | null;
  role: "cross" | "decoder-self" | "encoder-self" | "image-cross" | "image-self";
  layer?: number | null;
  head?: number | null;
  action?: "mean" | "uniform" | "zero";
}

export interface RowIntervention {
  kind: "row";
  rows?: number[] | null;
  role: "cross" | "decoder-self" | "encoder-self" | "image-cross" | "image-self";
  layer?: number | null;
  head?: number | null;
  query: number;
  action: "move" | "renormalise" | "set" | "uniform";
  weights?: number[];
  keys?: number[];
}

export interface CellIntervention {
  kind: "cell";
  rows?: number[] | null;
  role: "cross" | "decoder-self" | "encoder-self" | "image-cross" | "image-self";
  layer?: number | null;
  head?: number | null;
  query: number | null;
  key: number;
  weight: number;
  rest?: "keep" | "scale";
}

export interface HideIntervention {
  kind: "hide";
  rows?: number[] | null;
  side: "image" | "source" | "target";
  position: number;
  role?: "cross" | "decoder-self" | "encoder-self" | "image-cross" | "image-self" | null;
  layer?: number | null;
}

export interface WithoutIntervention {
  kind: "without";
  rows?: number[] | null;
  part: "causal-mask" | "layer" | "layer-norm" | "positions" | "residual" | "scaling";
  stack?: "decoder" | "encoder" | "image-encoder" | null;
  layer?: number | null;
  sublayer?: "cross-attention" | "feed-forward" | "self-attention" | null;
}

export interface PatchIntervention {
  kind: "patch";
  rows?: number[] | null;
  site: "block" | "head" | "memory";
  role?: "cross" | "decoder-self" | "encoder-self" | "image-cross" | "image-self" | null;
  stack?: "decoder" | "encoder" | "image-encoder" | null;
  layer?: number | null;
  head?: number | null;
  position: number;
  from_position?: number;
  text?: string | null;
  target?: string | null;
  vector?: number[] | null;
}

export interface DecodeIntervention {
  kind: "decode";
  rows?: number[] | null;
  temperature?: number | null;
  top_k?: number | null;
  prefix?: string | number[] | null;
}

export interface TranslateResponse {
  model: string;
  translations: TranslationRecord[][];
  unknown_words: string[][];
}

export interface TranslationRecord {
  text: string;
  score: number;
  log_probability: number;
  alignment?: WordLinks | null;
  is_truncated?: boolean;
  is_finished?: boolean;
  confidence?: number;
}

export interface WordLinks {
  links: [number, number][];
  source_words: WordSpan[];
  target_words: WordSpan[];
}

export interface WordSpan {
  text: string;
  start: number;
  end: number;
}

export interface StreamRequest {
  interventions?: (string | HeadIntervention | RowIntervention | CellIntervention | HideIntervention | WithoutIntervention | PatchIntervention | DecodeIntervention)[];
  sample?: string[];
  text: string;
  model?: string | null;
  beam_size?: number | null;
}

export interface CompleteRequest {
  interventions?: (string | HeadIntervention | RowIntervention | CellIntervention | HideIntervention | WithoutIntervention | PatchIntervention | DecodeIntervention)[];
  sample?: string[];
  text: string;
  model?: string | null;
  beam_size?: number | null;
  nbest?: number;
  do_sample?: boolean;
  temperature?: number;
  max_new_tokens?: number | null;
}

export interface CompleteResponse {
  model: string;
  continuations: CompletionRecord[];
}

export interface CompletionRecord {
  text: string;
  score: number;
  log_probability: number;
  is_finished: boolean;
}

export interface FillRequest {
  interventions?: (string | HeadIntervention | RowIntervention | CellIntervention | HideIntervention | WithoutIntervention | PatchIntervention | DecodeIntervention)[];
  sample?: string[];
  text: string;
  model?: string | null;
  top_k?: number;
}

export interface FillResponse {
  model: string;
  text: string;
  masks: TokenPredictionRecord[][];
}

export interface TokenPredictionRecord {
  token: string;
  probability: number;
}

export interface TraceRequest {
  interventions?: (string | HeadIntervention | RowIntervention | CellIntervention | HideIntervention | WithoutIntervention | PatchIntervention | DecodeIntervention)[];
  sample?: string[];
  text: string;
  model?: string | null;
  target?: string | null;
  beam_size?: number | null;
}

export interface TraceResponse {
  source: TokenSequence;
  target: TokenSequence;
  text: string;
  log_probabilities: number[];
  layers: AttentionLayerInfo[];
  unknown_words?: string[];
  id: string;
  model: string;
  translation: TranslationRecord | null;
  interventions: string[];
}

export interface TokenSequence {
  pieces: string[];
  word_pieces: number[][];
  words: string[];
}

export interface AttentionLayerInfo {
  name: string;
  role: "cross" | "decoder-self" | "encoder-self" | "image-cross" | "image-self";
  layer: number;
  heads: number;
  score: string;
  queries: "image" | "source" | "target";
  keys: "image" | "source" | "target";
  deviation: number;
}

export interface BeamRequest {
  interventions?: (string | HeadIntervention | RowIntervention | CellIntervention | HideIntervention | WithoutIntervention | PatchIntervention | DecodeIntervention)[];
  sample?: string[];
  text: string;
  model?: string | null;
  beam_size?: number | null;
}

export interface BeamResponse {
  model: string;
  beam_size: number;
  nodes: BeamNodeRecord[];
  outputs: TranslationRecord[];
}

export interface BeamNodeRecord {
  piece: string;
  parent: number | null;
  log_probability: number;
  state: "continued" | "finished" | "pruned";
  score: number | null;
  is_best: boolean;
}

export interface AttentionArithmetic {
  layer: AttentionLayerInfo;
  head: number;
  query_index: number;
  query_label: string;
  key_labels: string[];
  x: number[];
  query: number[];
  keys: number[][];
  values: number[][];
  scores: number[];
  visible: boolean[];
  weights: number[];
  context: number[];
  key_inputs: number[][];
  query_weight: number[][] | null;
  query_bias: number[] | null;
  key_weight: number[][] | null;
  key_bias: number[] | null;
  value_weight: number[][] | null;
  value_bias: number[] | null;
  output_weight: number[][] | null;
  output_bias: number[] | null;
  output: number[];
  scale: number;
  score_parameters: Record<string, number[][]>;
  is_rotary: boolean;
  rotary_base: number;
  position_bias: number[] | null;
  block: BlockArithmetic | null;
  prediction: OutputArithmetic | null;
}

export interface BlockArithmetic {
  number: number;
  is_last: boolean;
  previous_block: number | null;
  next_block: number | null;
  embedding: EmbeddingArithmetic | null;
  sublayers: SublayerArithmetic[];
  attention_sublayer: number;
  feed_forward: FeedForwardArithmetic;
  last_norm: LayerNormArithmetic | null;
  head: LmHeadArithmetic | null;
}

export interface EmbeddingArithmetic {
  token: number[];
  scale: number;
  position: number[] | null;
  output: number[];
  norm: LayerNormArithmetic | null;
}

export interface LayerNormArithmetic {
  x: number[];
  gain: number[];
  bias: number[];
  epsilon: number;
  is_centered: boolean;
  output: number[];
}

export interface SublayerArithmetic {
  kind: "cross-attention" | "feed-forward" | "recurrence" | "self-attention";
  attention: number | null;
  x: number[];
  pre_norm: LayerNormArithmetic | null;
  output: number[];
  residual_sum: number[];
  post_norm: LayerNormArithmetic | null;
}

export interface FeedForwardArithmetic {
  activation: string;
  x: number[];
  fc1_output: number[];
  activated: number[];
  fc3_output: number[] | null;
  output: number[];
  fc1_row: number;
  fc1_weight: number[] | null;
  fc1_bias: number | null;
  fc2_row: number;
  fc2_weight: number[] | null;
  fc2_bias: number | null;
}

export interface LmHeadArithmetic {
  activation: string;
  dense_output: number[];
  norm: LayerNormArithmetic;
}

export interface OutputArithmetic {
  vocabulary: number;
  hidden: number[];
  log_partition: number;
  tokens: TokenArithmetic[];
}

export interface TokenArithmetic {
  piece: string;
  rank: number;
  logit: number;
  probability: number;
  is_chosen: boolean;
  weight: number[] | null;
  bias: number;
}

export interface AlignmentResponse {
  source_words: string[];
  target_words: string[];
  weights: number[][];
  links: [number, number][];
}

export interface HeadAlignmentResponse {
  heads: HeadAlignmentRecord[];
}

export interface HeadAlignmentRecord {
  layer: number | null;
  head: number | null;
  at: "input" | "output";
  aer: number;
}

export interface PositionsResponse {
  kind: "learned" | "none" | "relative" | "rotary" | "sinusoidal";
  layout: "halves" | "interleaved" | null;
  width: number;
  values: number[][] | null;
  max_positions?: number | null;
  trained?: number | null;
}

export interface FittingInterventions {
  attentions: AttentionRecord[];
  stacks: StackRecord[];
  parts: ("causal-mask" | "layer" | "layer-norm" | "positions" | "residual" | "scaling")[];
  sides: ("image" | "source" | "target")[];
  patch_sites: ("block" | "head" | "memory")[];
}

export interface AttentionRecord {
  role: "cross" | "decoder-self" | "encoder-self" | "image-cross" | "image-self";
  layer: number;
  heads: number;
}

export interface StackRecord {
  stack: "decoder" | "encoder" | "image-encoder";
  layers: number;
  sublayers: ("cross-attention" | "feed-forward" | "self-attention")[];
}

export interface PredictionsResponse {
  side: "image" | "source" | "target";
  positions: PredictedToken[][];
}

export interface PredictedToken {
  piece: string;
  rank: number;
  probability: number;
  is_chosen: boolean;
}

export interface HeadImportanceResponse {
  position: number | null;
  piece: string | null;
  log_probability: number;
  layers: LayerImportanceRecord[];
}

export interface LayerImportanceRecord {
  name: string;
  role: "cross" | "decoder-self" | "encoder-self" | "image-cross" | "image-self";
  layer: number;
  changes: number[];
}

export interface ContributionsResponse {
  source: number[];
  prefix: number[];
  by_source: number[][];
  by_prefix: number[][];
}

export interface LogitLensResponse {
  layers: LensLayer[];
}

export interface LensLayer {
  name: string;
  tokens: PredictedToken[];
}

export interface CaptionSummary {
  source: TokenSequence;
  target: TokenSequence;
  text: string;
  log_probabilities: number[];
  layers: AttentionLayerInfo[];
  unknown_words?: string[];
  id: string;
  model: string;
  score: number;
  log_probability: number;
  rows: number;
  columns: number;
  image: string;
  gold: GoldCaption | null;
}

export interface GoldCaption {
  words: string[];
  boxes: [number, number, number, number][][];
}

export interface ExampleImagesResponse {
  examples: ExampleImageRecord[];
}

export interface ExampleImageRecord {
  number: number;
  captions: string[];
  has_boxes: boolean;
}

export interface ClassifyRequest {
  interventions?: (string | HeadIntervention | RowIntervention | CellIntervention | HideIntervention | WithoutIntervention | PatchIntervention | DecodeIntervention)[];
  sample?: string[];
  texts: string[];
  model?: string | null;
  top_k?: number;
  attention?: boolean;
}

export interface ClassifyResponse {
  model: string;
  results: ClassificationRecord[];
}

export interface ClassificationRecord {
  label: string;
  probability: number;
  classes: ClassProbability[];
  is_truncated: boolean;
  words?: WordWeight[];
}

export interface ClassProbability {
  label: string;
  probability: number;
}

export interface WordWeight {
  text: string;
  weight: number;
}

export interface ClassifiedImage {
  source: TokenSequence;
  target: TokenSequence;
  text: string;
  log_probabilities: number[];
  layers: AttentionLayerInfo[];
  unknown_words?: string[];
  id: string;
  model: string;
  image: string;
  rows: number;
  columns: number;
  weights: number[];
  label: string;
  probability: number;
  classes: ClassProbability[];
}

export interface RunsResponse {
  runs: RunRecord[];
}

export interface RunRecord {
  name: string;
  kind: string;
  steps: number;
  step: number;
  state: "ended" | "stopped" | "training" | "waiting";
  model: string | null;
}

export interface RunEvents {
  events: Record<string, any>[];
  next: number;
}

export interface RunProbes {
  steps: number[];
  labels: ProbeLabels[];
  targets: TokenSequence[];
  layers: ProbedLayer[];
}

export interface ProbeLabels {
  source: string[];
  target: string[];
  image?: string;
}

export interface ProbedLayer {
  name: string;
  role: "cross" | "decoder-self" | "encoder-self" | "image-cross" | "image-self";
  layer: number;
  heads: number;
}

export interface RunImages {
  images: string[];
}

export interface EvaluationResponse {
  test: TestSetSize;
  models: TranslationReport[];
}

export interface TestSetSize {
  sentences: number;
  has_sentences: boolean;
}

export interface TranslationReport {
  model: string;
  kind: string;
  score?: string | null;
  query_state?: string | null;
  sentences: number;
  scores: Score[];
  lengths: LengthBucket[];
  decoding_seconds: number;
  sentences_per_second: number;
  tokens_per_second: number;
  parameters: number;
  disk_bytes: number;
  alignment?: HeadAlignment | null;
  truncated?: number[];
  outputs?: string[];
}

export interface Score {
  name: string;
  value: number;
  signature: string;
  low: number;
  high: number;
}

export interface LengthBucket {
  low: number;
  high: number;
  count: number;
  score: number;
}

export interface HeadAlignment {
  layer: number | null;
  head: number | null;
  at: "input" | "output";
  aer: number;
  precision: number;
  recall: number;
  measure?: "contributions" | "norms" | "value-zeroing" | "weights";
}

export interface ComparedSentences {
  sentences: ComparedSentence[];
}

export interface ComparedSentence {
  source: string;
  reference: string;
  outputs: Record<string, string>;
}

export interface ExampleSentencesResponse {
  examples: ExampleSentence[];
}

export interface ExampleSentence {
  source: string;
  target: string;
  links: [number, number][] | null;
}
