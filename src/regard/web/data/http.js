// @ts-check
/** The routes of a server's API as the Backend interface: one method for each route. */

import { ApiError } from "./errors.js";
import { shareRequests } from "./shared_request.js";
import { serverSentEvents } from "./sse.js";

/** @import { AttentionMap, Backend, RequestOptions } from "./backend.js" */
/** @import { ApiKey } from "./api_key.js" */

/** @typedef {Record<string, string | number | string[] | null | undefined>} QueryValues a list is a repeated parameter */

/**
 * @param {string} [root] where the API is
 * @param {ApiKey | null} [apiKey] the key that the server may require
 * @returns {Backend}
 */
export function httpBackend(root = "api/v1", apiKey = null) {
  /**
   * @param {string} path
   * @param {RequestInit} request
   * @returns {Promise<Response>}
   */
  const send = async (path, request) => {
    const key = apiKey?.value() ?? "";
    const response = await fetch(`${root}/${path}`, withKey(request, key)).catch((error) => {
      throw error.name === "AbortError" ? error : new ApiError("unreachable", "the server does not answer");
    });
    if (response.ok) return response;
    if (response.status === 401 && apiKey) {
      await apiKey.renew(key);
      return send(path, request);
    }
    const record = await response.json().catch(() => null);
    const { code = "http", message = `HTTP ${response.status}` } = record?.error ?? {};
    throw new ApiError(code, message, response.status);
  };

  /** @type {(path: string, query?: QueryValues, options?: RequestOptions) => Promise<any>} */
  const getJson = async (path, query, options) =>
    (await send(withQuery(path, query), { signal: options?.signal })).json();

  /** @type {(path: string, body: unknown, options?: RequestOptions) => Promise<any>} */
  const postJson = async (path, body, options) => (await send(path, jsonRequest(body, options))).json();

  /**
   * @param {string} path
   * @param {QueryValues} query
   * @param {RequestOptions} [options]
   * @returns {Promise<AttentionMap>}
   */
  const getMap = async (path, query, options) => {
    const response = await send(withQuery(path, query), { signal: options?.signal });
    const [rows, columns] = (response.headers.get("X-Regard-Shape") ?? "").split(",").map(Number);
    return { weights: new Float32Array(await response.arrayBuffer()), rows, columns };
  };

  /**
   * @param {string} path
   * @param {RequestInit} request
   * @returns {AsyncGenerator<any>}
   */
  async function* events(path, request) {
    const { body } = await send(path, request);
    for await (const { event, data } of serverSentEvents(/** @type {ReadableStream<Uint8Array>} */ (body))) {
      const record = JSON.parse(data);
      if (event === "error") throw new ApiError(record.code, record.message);
      yield { ...record, event };
    }
  }

  /** @type {Backend["examples"]} */
  const loadExamples = (query, options) => getJson("examples", query, options);
  const ofTrace = (/** @type {string} */ id, /** @type {string} */ part) => `traces/${encodeURIComponent(id)}/${part}`;
  const ofModel = (/** @type {string} */ name, /** @type {string} */ part) =>
    `models/${encodeURIComponent(name)}/${part}`;
  const ofRun = (/** @type {string} */ name, /** @type {(string | number)[]} */ ...parts) =>
    ["runs", name, ...parts].map(encodeURIComponent).join("/");

  return {
    isEmbedded: false,
    models: (options) => getJson("models", {}, options),
    examples: shareRequests(loadExamples).get,
    words: (model, options) => getJson(ofModel(model, "words"), {}, options),
    translate: (request, options) => postJson("translate", request, options),
    stream: (request, options) => events("stream", jsonRequest(request, options)),
    complete: (request, options) => postJson("complete", request, options),
    fill: (request, options) => postJson("fill", request, options),
    classify: (request, options) => postJson("classify", request, options),
    async classifyImage({ model, example, image, interventions }, options) {
      const headers = { "Content-Type": image?.type || "application/octet-stream" };
      const request = { method: "POST", headers, body: image ?? "", signal: options?.signal };
      return (await send(withQuery("classify/image", { model, example, interventions }), request)).json();
    },
    traces: (request, options) => postJson("traces", request, options),
    weights: (id, { layer, head = "mean" }, options) => getMap(ofTrace(id, "weights"), { layer, head }, options),
    rollout: (id, options) => getMap(ofTrace(id, "rollout"), {}, options),
    normWeights: (id, { layer, head = "mean" }, options) =>
      getMap(ofTrace(id, "norm-weights"), { layer, head }, options),
    valueZeroing: (id, layer, options) => getMap(ofTrace(id, "value-zeroing"), { layer }, options),
    contributions: (id, options) => getJson(ofTrace(id, "contributions"), {}, options),
    logitLens: (id, position, options) => getJson(ofTrace(id, "logit-lens"), { position }, options),
    beam: (request, options) => postJson("beam", request, options),
    arithmetic: (id, { layer, head, query, fc1_row, fc2_row }, options) =>
      getJson(
        ofTrace(id, "arithmetic"),
        { layer, head, query, fc1_row: fc1_row || null, fc2_row: fc2_row || null },
        options,
      ),
    alignment: (id, { layer = "mean", head = "mean", at = "output" }, options) =>
      getJson(ofTrace(id, "alignment"), { layer, head, at }, options),
    interventionOptions: (model, options) => getJson(ofModel(model, "interventions"), {}, options),
    predictions: (id, options, temperature) => getJson(ofTrace(id, "predictions"), { temperature }, options),
    headImportance: (id, position, options) => getJson(ofTrace(id, "head-importance"), { position }, options),
    headAlignment: (model, options) => getJson(ofModel(model, "head-alignment"), {}, options),
    positions: (model, length, options) => getJson(ofModel(model, "positions"), { length }, options),
    caption({ model, example, image, interventions }, options) {
      const headers = { "Content-Type": image?.type || "application/octet-stream" };
      const request = { method: "POST", headers, body: image ?? "", signal: options?.signal };
      return events(withQuery("captions/stream", { model, example, interventions }), request);
    },
    exampleImages: (model, options) => getJson(ofModel(model, "examples"), {}, options),
    async exampleImage(model, number, options) {
      const path = ofModel(model, `examples/${number}`);
      if (!apiKey?.value()) return `${root}/${path}`; // an <img> cannot send a key
      const blob = await (await send(path, { signal: options?.signal })).blob();
      options?.signal?.throwIfAborted(); // nobody would revoke the address
      const address = URL.createObjectURL(blob);
      options?.signal?.addEventListener("abort", () => URL.revokeObjectURL(address));
      return address;
    },
    evaluation: (model, options) => getJson("evaluation", { model }, options),
    evaluationBucket: (model, bucket, options) =>
      getJson(`evaluation/${encodeURIComponent(bucket)}`, { model }, options),
    runs: (options) => getJson("runs", {}, options),
    runEvents: (run, after, options) => getJson(ofRun(run, "events"), { after }, options),
    probes: (run, step, options) => getJson(ofRun(run, "probes"), { step }, options),
    probeWeights: (run, { step, probe, layer, head = "mean" }, options) =>
      getMap(ofRun(run, "probes", step, probe, layer), { head }, options),
    runImages: (run, options) => getJson(ofRun(run, "images"), {}, options),
    probeImage: async (run, probe, options) =>
      dataAddress(await (await send(ofRun(run, "images", probe), { signal: options?.signal })).blob()),
  };
}

/**
 * @param {Blob} blob
 * @returns {Promise<string>}
 */
function dataAddress(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result)));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(blob);
  });
}

/**
 * @param {unknown} body
 * @param {RequestOptions} [options]
 * @returns {RequestInit}
 */
function jsonRequest(body, options) {
  const headers = { "Content-Type": "application/json" };
  return { method: "POST", headers, body: JSON.stringify(body), signal: options?.signal };
}

/**
 * @param {RequestInit} request
 * @param {string} key
 * @returns {RequestInit}
 */
function withKey(request, key) {
  return key ? { ...request, headers: { ...request.headers, Authorization: `Bearer ${key}` } } : request;
}

/**
 * @param {string} path
 * @param {QueryValues} [query] what is null or undefined is left out
 */
function withQuery(path, query = {}) {
  const given = Object.entries(query).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => [name, String(one)]),
  );
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}
