import type {
  AlignmentResponse,
  AttentionArithmetic,
  AttentionLayerInfo,
  BeamRequest,
  BeamResponse,
  CaptionSummary,
  ClassifiedImage,
  ClassifyRequest,
  ClassifyResponse,
  ComparedSentences,
  CompleteRequest,
  CompleteResponse,
  ContributionsResponse,
  EvaluationResponse,
  ExampleImageRecord,
  ExampleSentence,
  FillRequest,
  FillResponse,
  FittingInterventions,
  HeadAlignmentRecord,
  HeadImportanceResponse,
  LogitLensResponse,
  ModelRecord,
  PositionsResponse,
  PredictionsResponse,
  RunEvents,
  RunImages,
  RunProbes,
  RunRecord,
  StreamRequest,
  TokenSequence,
  TraceRequest,
  TraceResponse,
  TranslateRequest,
  TranslateResponse,
  TranslationRecord,
  TranslationReport,
} from "./api_types.js";

export type * from "./api_types.js";

export type AttentionRole = AttentionLayerInfo["role"];
export type Model = ModelRecord;
export type Task = Model["task"];
export type AttentionLayer = AttentionLayerInfo;
/** The arithmetic of one query of one head. */
export type Arithmetic = AttentionArithmetic;
export type Side = TokenSequence;
export type Output = TranslationRecord;
export type Trace = TraceResponse;
/** Of a sentence or of a caption. */
export type AnyTrace = Pick<Trace, "id" | "text" | "source" | "target" | "layers" | "log_probabilities">;
export type Caption = CaptionSummary;
export type Example = ExampleSentence;
export type ImageExample = ExampleImageRecord;
export type WordAlignment = AlignmentResponse;
export type HeadAlignment = HeadAlignmentRecord;
/** Interventions that a model allows: its attentions, its stacks of blocks, and the parts that can be left out. */
export type InterventionOptions = FittingInterventions;
/** The most probable tokens of every position; position i predicts target piece i + 1, or piece i of a text with blanks. */
export type Predictions = PredictionsResponse;
/** The change of a piece's log-probability without each head: negative where the piece needs the head. */
export type HeadImportance = HeadImportanceResponse;
export type Evaluation = EvaluationResponse;
export type ModelReport = TranslationReport;
/** A model's own position encoding: its first rows, and how far it goes. */
export type PositionTable = PositionsResponse;

/** Weights of one head, row by row. */
export interface AttentionMap {
  weights: Float32Array;
  rows: number;
  columns: number;
}

/** An error that a backend explains by a code; messages are in locales under problem.CODE. */
export interface BackendError extends Error {
  code: string;
  status?: number;
}

export interface RequestOptions {
  signal?: AbortSignal;
}

/** A head of one attention layer of a trace; `layer` is its index in trace.layers. */
export interface HeadPlace {
  layer: number;
  head?: number | string;
}

export interface ArithmeticRequest {
  layer: number;
  head: number | string;
  query: number;
  fc1_row?: number | string;
  fc2_row?: number | string;
}

export interface AlignmentRequest {
  layer?: number | string;
  head?: number | string;
  at?: "output" | "input";
}

export interface CaptionRequest {
  model: string;
  example?: number;
  image?: Blob | null;
  interventions?: string[];
  /** Of a classifier: the class of the image instead of a caption. */
  classifies?: boolean;
}

/** An experiment that was recorded in a file: the file's trace is the changed one. */
export interface RecordedExperiment {
  interventions: string[];
  before: { text: string; target: Side; log_probabilities: number[] };
}

export interface ProbeMapRequest {
  step: number;
  probe: number;
  layer: number;
  head?: number | string;
}

export type StreamEvent = { event: "partial"; text: string } | ({ event: "done" } & Output);
/** The square of an image that the model was given, and its grid of regions. */
export interface ImagePreview {
  rows: number;
  columns: number;
  image: string;
}
/** A caption that is still being generated; each word with its weights over the regions. */
export interface PartialCaption {
  text: string;
  words: { text: string; weights: number[] }[];
}
export type CaptionEvent =
  | ({ event: "image" } & ImagePreview)
  | ({ event: "partial" } & PartialCaption)
  | ({ event: "done" } & Caption);

/** What is missing in a file whose maps had to be thinned. */
export interface Omitted {
  steps: number;
  of_steps: number;
  probes: number;
  of_probes: number;
}

/** What a view may request. Two backends: a server (data/http.js), and data within the page (data/embedded.js). */
export interface Backend {
  isEmbedded: boolean;
  /** The one sentence of a file. */
  sourceText?: string;
  omitted?: Omitted | null;
  experiment?: RecordedExperiment | null;
  models(options?: RequestOptions): Promise<{ models: Model[] }>;
  examples(
    query: { source?: string | null; target?: string | null; model?: string; limit?: number },
    options?: RequestOptions,
  ): Promise<{ examples: Example[] }>;
  words(model: string, options?: RequestOptions): Promise<{ words: string[] }>;
  translate(request: TranslateRequest, options?: RequestOptions): Promise<TranslateResponse>;
  stream(request: StreamRequest, options?: RequestOptions): AsyncIterable<StreamEvent>;
  complete(request: CompleteRequest, options?: RequestOptions): Promise<CompleteResponse>;
  fill(request: FillRequest, options?: RequestOptions): Promise<FillResponse>;
  classify(request: ClassifyRequest, options?: RequestOptions): Promise<ClassifyResponse>;
  classifyImage(request: CaptionRequest, options?: RequestOptions): Promise<ClassifiedImage>;
  traces(request: TraceRequest, options?: RequestOptions): Promise<Trace>;
  weights(trace: string, place: HeadPlace, options?: RequestOptions): Promise<AttentionMap>;
  rollout(trace: string, options?: RequestOptions): Promise<AttentionMap>;
  arithmetic(trace: string, request: ArithmeticRequest, options?: RequestOptions): Promise<Arithmetic>;
  alignment(trace: string, request: AlignmentRequest, options?: RequestOptions): Promise<WordAlignment>;
  interventionOptions(model: string, options?: RequestOptions): Promise<InterventionOptions>;
  normWeights(trace: string, place: HeadPlace, options?: RequestOptions): Promise<AttentionMap>;
  valueZeroing(trace: string, layer: number, options?: RequestOptions): Promise<AttentionMap>;
  contributions(trace: string, options?: RequestOptions): Promise<ContributionsResponse>;
  logitLens(trace: string, position: number, options?: RequestOptions): Promise<LogitLensResponse>;
  beam(request: BeamRequest, options?: RequestOptions): Promise<BeamResponse>;
  predictions(trace: string, options?: RequestOptions, temperature?: number): Promise<Predictions>;
  headImportance(trace: string, position: number, options?: RequestOptions): Promise<HeadImportance>;
  headAlignment(model: string, options?: RequestOptions): Promise<{ heads: HeadAlignment[] }>;
  positions(model: string, length: number, options?: RequestOptions): Promise<PositionTable>;
  caption(request: CaptionRequest, options?: RequestOptions): AsyncIterable<CaptionEvent>;
  exampleImages(model: string, options?: RequestOptions): Promise<{ examples: ImageExample[] }>;
  /** An address for <img>; where the server wants a key it is a blob's, which ends with `signal`. */
  exampleImage(model: string, number: number, options?: RequestOptions): Promise<string>;
  /** The report with this model; else the first one. */
  evaluation(model: string, options?: RequestOptions): Promise<Evaluation | null>;
  evaluationBucket(model: string, bucket: string | number, options?: RequestOptions): Promise<ComparedSentences>;
  runs(options?: RequestOptions): Promise<{ runs: RunRecord[] }>;
  runEvents(run: string, after: number, options?: RequestOptions): Promise<RunEvents>;
  probes(run: string, step: number, options?: RequestOptions): Promise<RunProbes>;
  probeWeights(run: string, request: ProbeMapRequest, options?: RequestOptions): Promise<AttentionMap>;
  runImages(run: string, options?: RequestOptions): Promise<RunImages>;
  /** The image of a probe as an address that holds it, so that it can be saved with what is drawn over it. */
  probeImage(run: string, probe: number, options?: RequestOptions): Promise<string>;
}
