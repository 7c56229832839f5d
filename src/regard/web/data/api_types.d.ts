/** Records of /api/v1, written by tests/web/api_types.py from the OpenAPI document. Do not edit. */

/** The models that are served. */
export interface ModelsResponse {
  models: ModelRecord[];
}

/** A model as the API describes it. */
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
  task: "fill-mask" | "image-to-text" | "text-generation" | "translation";
}

/** The error format of /api/v1. */
export interface ErrorResponse {
  error: ErrorDetail;
}

/** Why a request failed: a code for programs, a message for people. */
export interface ErrorDetail {
  code: string;
  message: string;
}

/** Texts to translate, by the name of a model or by languages. */
export interface TranslateRequest {
  texts: string[];
  model?: string | null;
  source?: string | null;
  target?: string | null;
  beam_size?: number | null;
  nbest?: number;
  align?: boolean;
  split?: boolean;
}

/** For each text its best translations, the best first. */
export interface TranslateResponse {
  model: string;
  translations: TranslationRecord[][];
}

/** One translation of a text. */
export interface TranslationRecord {
  text: string;
  score: number;
  log_probability: number;
  alignment?: WordLinks | null;
  is_truncated?: boolean;
  is_finished?: boolean;
}

/** The words of both sides, and the links [source word, target word] between them. */
export interface WordLinks {
  links: [number, number][];
  source_words: WordSpan[];
  target_words: WordSpan[];
}

/** A word and its characters: from `start`, before `end`. */
export interface WordSpan {
  text: string;
  start: number;
  end: number;
}

/** A text whose translation is streamed. */
export interface StreamRequest {
  text: string;
  model?: string | null;
  beam_size?: number | null;
}

/** A text to continue, which may be empty. */
export interface CompleteRequest {
  text: string;
  model?: string | null;
  beam_size?: number | null;
  nbest?: number;
  do_sample?: boolean;
  temperature?: number;
  max_new_tokens?: number | null;
}

/** The generated texts, the best first. */
export interface CompleteResponse {
  model: string;
  continuations: CompletionRecord[];
}

/** A generated text from its beginning; the scores are those of the whole text. */
export interface CompletionRecord {
  text: string;
  score: number;
  log_probability: number;
  is_finished: boolean;
}

/** A text with masks, each written as ___. */
export interface FillRequest {
  text: string;
  model?: string | null;
  top_k?: number;
}

/** The text with its masks filled, and for each mask the likeliest tokens, the likeliest first. */
export interface FillResponse {
  model: string;
  text: string;
  masks: TokenPredictionRecord[][];
}

/** A token that may replace a mask. */
export interface TokenPredictionRecord {
  token: string;
  probability: number;
}

/** A text to trace, with its translation by the model or with a given target. */
export interface TraceRequest {
  text: string;
  model?: string | null;
  target?: string | null;
  beam_size?: number | null;
}

/** The summary of a trace, and its id for further requests. */
export interface TraceResponse {
  source: TokenSequence;
  target: TokenSequence;
  text: string;
  log_probabilities: number[];
  layers: AttentionLayerInfo[];
  id: string;
  model: string;
  translation: TranslationRecord | null;
}

/** The tokens along one side of a map, and the words that they make up. */
export interface TokenSequence {
  pieces: string[];
  word_pieces: number[][];
  words: string[];
}

/** One attention of a model: its role, and how far its recorded weights are from those of the fused kernel. */
export interface AttentionLayerInfo {
  name: string;
  role: "cross" | "decoder-self" | "encoder-self" | "image-cross" | "image-self";
  layer: number;
  heads: number;
  score: "additive" | "dot" | "general" | "scaled_dot";
  queries: "image" | "source" | "target";
  keys: "image" | "source" | "target";
  deviation: number;
}

/** Everything from one query of one head to its context, as lists of the model's float32 numbers. */
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
  additive: AdditiveScoreArithmetic | null;
  general: GeneralScoreArithmetic | null;
  is_rotary: boolean;
  block: BlockArithmetic | null;
  prediction: OutputArithmetic | null;
}

/** score_k = vector . tanh(projected_query + projected_keys_k). */
export interface AdditiveScoreArithmetic {
  projected_query: number[];
  projected_keys: number[][];
  vector: number[];
  query_weight: number[][];
  key_weight: number[][];
  key_bias: number[];
}

/** score_k = q . (weight k): `keys` are already multiplied by it. */
export interface GeneralScoreArithmetic {
  weight: number[][];
  unprepared_keys: number[][];
}

/** One position in a block, from its input to its output. */
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

/** A token's vector and its position's: the input of the first block. */
export interface EmbeddingArithmetic {
  token: number[];
  scale: number;
  position: number[] | null;
  output: number[];
  norm: LayerNormArithmetic | null;
}

/** A layer normalisation of one position. */
export interface LayerNormArithmetic {
  x: number[];
  gain: number[];
  bias: number[];
  epsilon: number;
  output: number[];
}

/** One sub-layer with its residual connection and its normalisation. */
export interface SublayerArithmetic {
  kind: "cross-attention" | "feed-forward" | "recurrence" | "self-attention";
  attention: number | null;
  x: number[];
  pre_norm: LayerNormArithmetic | null;
  output: number[];
  residual_sum: number[];
  post_norm: LayerNormArithmetic | null;
}

/** W_2 f(W_1 x + b_1) + b_2, with the selected row of each matrix; None where a file leaves it out. */
export interface FeedForwardArithmetic {
  activation: string;
  x: number[];
  fc1_output: number[];
  activated: number[];
  output: number[];
  fc1_row: number;
  fc1_weight: number[] | null;
  fc1_bias: number | null;
  fc2_row: number;
  fc2_weight: number[] | null;
  fc2_bias: number | null;
}

/** The head of a masked language model before its output layer: norm(f(W x + b)). */
export interface LmHeadArithmetic {
  activation: string;
  dense_output: number[];
  norm: LayerNormArithmetic;
}

/** The most probable tokens at one position, and last, if it is not among them, the chosen one. */
export interface OutputArithmetic {
  vocabulary: number;
  hidden: number[];
  log_partition: number;
  tokens: TokenArithmetic[];
}

/** One token of the vocabulary: logit = weight . hidden + bias. */
export interface TokenArithmetic {
  piece: string;
  rank: number;
  logit: number;
  probability: number;
  is_chosen: boolean;
  weight: number[] | null;
  bias: number;
}

/** The attention weight of each target word on each source word, and the links that follow. */
export interface AlignmentResponse {
  source_words: string[];
  target_words: string[];
  weights: number[][];
  links: [number, number][];
}

/** All head selections, the best first. */
export interface HeadAlignmentResponse {
  heads: HeadAlignmentRecord[];
}

/** A head selection and its alignment error rate; None for a layer or head is their mean. */
export interface HeadAlignmentRecord {
  layer: number | null;
  head: number | null;
  at: "input" | "output";
  aer: number;
}

/** The encoding of each position; of rotary positions the sines and cosines of the angles. */
export interface PositionsResponse {
  kind: "learned" | "none" | "rotary" | "sinusoidal";
  layout: "halves" | "interleaved" | null;
  width: number;
  values: number[][] | null;
  max_positions?: number | null;
  trained?: number | null;
}

/** A caption's trace, the id by which its numbers are asked for, and the picture as the model saw it. */
export interface CaptionSummary {
  source: TokenSequence;
  target: TokenSequence;
  text: string;
  log_probabilities: number[];
  layers: AttentionLayerInfo[];
  id: string;
  model: string;
  score: number;
  log_probability: number;
  rows: number;
  columns: number;
  image: string;
  gold: GoldCaption | null;
}

/** What is right to say of a picture, and for each word the boxes of what it speaks of. */
export interface GoldCaption {
  words: string[];
  boxes: Box[][];
}

/** A rectangle around a shape, as fractions of the image's width and height. */
export type Box = [number, number, number, number];

/** The images to try. */
export interface ExampleImagesResponse {
  examples: ExampleImageRecord[];
}

/** An image to try. */
export interface ExampleImageRecord {
  number: number;
  captions: string[];
  has_boxes: boolean;
}

/** The runs of the server. */
export interface RunsResponse {
  runs: RunRecord[];
}

/** A run and its progress. */
export interface RunRecord {
  name: string;
  kind: string;
  steps: number;
  step: number;
  state: "ended" | "stopped" | "training" | "waiting";
  model: string | null;
}

/** Events of a log, and their number: where the next request continues. */
export interface RunEvents {
  events: Record<string, any>[];
  next: number;
}

/** The steps at which maps were saved; labels, the words of each target, and layers are those of one step. */
export interface RunProbes {
  steps: number[];
  labels: ProbeLabels[];
  targets: TokenSequence[];
  layers: ProbedLayer[];
}

/** The tokens of the two axes of a probe's maps; those of an image are its cells, row by row. */
export interface ProbeLabels {
  source: string[];
  target: string[];
  image?: string;
}

/** An attention whose maps were saved. */
export interface ProbedLayer {
  name: string;
  role: "cross" | "decoder-self" | "encoder-self" | "image-cross" | "image-self";
  layer: number;
  heads: number;
}

/** The names of the probe images; none if the probes are texts, or if the files no longer exist. */
export interface RunImages {
  images: string[];
}

/** The figures of all models on the same test set. */
export interface EvaluationResponse {
  test: TestSetSize;
  models: TranslationReport[];
}

/** The size of the test set. */
export interface TestSetSize {
  sentences: number;
}

/** A translator's figures on a test set; the time is that of decoding alone. */
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

/** One metric of a corpus; 95 % of resampled corpora score from `low` to `high`. */
export interface Score {
  name: string;
  value: number;
  signature: string;
  low: number;
  high: number;
}

/** BLEU of the sentences whose source has `low` to `high` words. */
export interface LengthBucket {
  low: number;
  high: number;
  count: number;
  score: number;
}

/** The alignment error of one selection; layer and head are counted from 1, as by commands (None: their mean). */
export interface HeadAlignment {
  layer: number | null;
  head: number | null;
  at: "input" | "output";
  aer: number;
  precision: number;
  recall: number;
}

/** Sentences of one range of lengths. */
export interface ComparedSentences {
  sentences: ComparedSentence[];
}

/** A sentence of the test set, and the output of each model. */
export interface ComparedSentence {
  source: string;
  reference: string;
  outputs: Record<string, string>;
}

/** Sentences to try. */
export interface ExampleSentencesResponse {
  examples: ExampleSentence[];
}

/** A sentence to try, its translation, and its word alignment if it is known. */
export interface ExampleSentence {
  source: string;
  target: string;
  links: [number, number][] | null;
}
