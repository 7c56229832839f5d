/**
 * The server's own API, one method per route; and the same methods over data that stands in the page itself.
 *
 * `embeddedApi(data)` (in embedded.js) serves a static file or a notebook. The data it expects (written by regard.view):
 *
 *   {
 *     "models":  [one record as of GET /api/v1/models],
 *     "source":  "the source text",
 *     "trace":   {"id": "embedded", "model": name, "source": Side, "target": Side, "text": ..., "log_probabilities": [...],
 *                 "layers": [AttentionLayer, ...], "translation": record or null},
 *     "weights": {"<layer>": ARRAY of shape [heads, queries, keys], ...}       <layer> indexes trace.layers: "0", "1", ...
 *     "rollout": ARRAY [source, source] or null,
 *     "details": {"<layer>": {                                                 left out where a file would grow too large
 *        "x": ARRAY [queries, W], "query": ARRAY [heads, queries, D], "key": ARRAY [heads, keys, D], "value": ARRAY [heads, keys, D],
 *        "key_inputs": ARRAY [keys, W], "scores": ARRAY [heads, queries, keys], "visible": ARRAY [queries, keys] of 0 and 1,
 *        "context": ARRAY [heads, queries, D], "output": ARRAY [queries, W],
 *        "query_weight", "key_weight", "value_weight": ARRAY [heads, D, W] or null, "query_bias", "key_bias", "value_bias": ARRAY [heads, D] or null,
 *        "output_weight": ARRAY [heads, W, D] or null, "output_bias": ARRAY [W] or null, "scale": number, "is_rotary": bool,
 *        "additive": {"projected_query": ARRAY [queries, D], "projected_keys": ARRAY [keys, D], "vector": ARRAY [D],
 *                     "query_weight", "key_weight": ARRAY [D, W], "key_bias": ARRAY [D]} or null,
 *        "general": {"weight": ARRAY [D, W], "unprepared_keys": ARRAY [keys, W]} or null }, ...},
 *     "blocks": [{"number", "is_last", "below", "head", "embedding", "sub_layers", "feed_forward", "last_norm": as in the API's `Inside`, with
 *        ARRAYs of all positions for vectors; an x that is what left the part before is not written again. The feed-forward network has
 *        "inner_weight" ARRAY [inner, W] or null, "inner_bias" ARRAY [inner], "outer_weight" ARRAY [W, inner] or null, "outer_bias" ARRAY [W]}, ...],
 *     "has_blocks": whether the model has such, "block_of": [index into blocks, or null, for each of trace.layers],
 *     "spoken":  {"side", "vocabulary", "hidden": ARRAY [positions, W], "log_totals": ARRAY [positions], "candidates": [[token, ...], ...],
 *                 "rows": [token's number, ...], "weight": ARRAY [rows, W], "bias": ARRAY [rows] or null} or null,
 *     "positions": {"table": ARRAY [positions, W] that the model has learned, "trained": how many of them training can have reached}, or null,
 *     "gold":    [[s, t], ...] or null
 *   }
 *   of pictures instead {"models": [...], "pictures": [{"trace": answer of POST /captions with its place in the list as id,
 *     "weights", "details", "blocks", "has_blocks", "block_of", "spoken": as above}, ...]}
 *   of a run instead {"models": [...], "run": {"record": one record of GET /runs, "events": the journal's, "probes": [answers of GET
 *     /runs/{name}/probes], "described": {"<step>": the number of its answer}, "maps": {"<step>": [of each probe [of each layer LEVELS]]},
 *     "pictures": [{"name", "address"}], "left_out": {"steps", "of_steps", "probes", "of_probes"} or null}}
 *   LEVELS = {"shape": [heads, queries, keys], "levels": 65535 or 255, "data": base64 of whole numbers of 16 (little-endian) or 8 bits}
 *   ARRAY = {"shape": [...], "data": base64 of float32, little-endian, row-major}
 */

/** What a server answers when it cannot do what was asked. */
export class ApiError extends Error {
  constructor(code, message, status = 0) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/**
 * The routes of a running server. Every method takes an AbortSignal as `signal` in its last argument.
 * The keyring has the key that the server may ask for: key() and renew(refused).
 */
export class Api {
  constructor(root = "api/v1", keyring = null) {
    this.root = root;
    this.keyring = keyring;
    this.isEmbedded = false;
  }

  models(options) {
    return this.#get("models", {}, options);
  }

  translate(request, options) {
    return this.#post("translate", request, options);
  }

  /** How a text goes on, by a decoder-only model. */
  complete(request, options) {
    return this.#post("complete", request, options);
  }

  /** What may stand in the blanks of a text, by an encoder-only model. */
  fill(request, options) {
    return this.#post("fill", request, options);
  }

  traces(request, options) {
    return this.#post("traces", request, options);
  }

  weights(id, { layer, head = "mean" }, options) {
    return this.#floats(`traces/${encodeURIComponent(id)}/weights`, { layer, head }, options);
  }

  rollout(id, options) {
    return this.#floats(`traces/${encodeURIComponent(id)}/rollout`, {}, options);
  }

  inside(id, { layer, head, query, inner, outer }, options) {
    const written = { ...(inner && { inner }), ...(outer && { outer }) };
    return this.#get(`traces/${encodeURIComponent(id)}/inside`, { layer, head, query, ...written }, options);
  }

  alignment(id, { layer = "mean", head = "mean", when = "said" }, options) {
    return this.#get(`traces/${encodeURIComponent(id)}/alignment`, { layer, head, when }, options);
  }

  /** A picture (a Blob), or one of the model's examples, described word by word: yields {event: "seen" | "partial" | "done", ...}. */
  describe({ model, example, picture }, options) {
    const headers = { "Content-Type": picture?.type || "application/octet-stream" };
    const request = { method: "POST", headers, body: picture ?? "", signal: options?.signal };
    return this.#events(withQuery("captions/stream", { model, example }), request);
  }

  pictures(model, options) {
    return this.#get(`models/${encodeURIComponent(model)}/pictures`, {}, options);
  }

  /** What an image can show: an element cannot send a key, so where there is one the picture is fetched for it. */
  async pictureAddress(model, number) {
    const path = `models/${encodeURIComponent(model)}/pictures/${number}`;
    if (!this.keyring?.key()) return `${this.root}/${path}`;
    return URL.createObjectURL(await (await this.#answer(path, {})).blob());
  }

  readings(model, options) {
    return this.#get(`models/${encodeURIComponent(model)}/readings`, {}, options);
  }

  positions(model, length, options) {
    return this.#get(`models/${encodeURIComponent(model)}/positions`, { length }, options);
  }

  examples({ source, target, model }, options) {
    return this.#get("examples", { source, target, model }, options);
  }

  quality(options) {
    return this.#get("quality", {}, options);
  }

  qualityBucket(bucket, options) {
    return this.#get(`quality/${encodeURIComponent(bucket)}`, {}, options);
  }

  runs(options) {
    return this.#get("runs", {}, options);
  }

  runEvents(run, after, options) {
    return this.#get(`runs/${encodeURIComponent(run)}/events`, { after }, options);
  }

  probes(run, step, options) {
    return this.#get(`runs/${encodeURIComponent(run)}/probes`, { step }, options);
  }

  /** The names of the pictures that a run's probes look at. */
  runPictures(run, options) {
    return this.#get(`runs/${encodeURIComponent(run)}/pictures`, {}, options);
  }

  /** One of them as an address that holds it, so that it can be saved with what is drawn over it. */
  async probePicture(run, probe, options) {
    const response = await this.#answer(`runs/${encodeURIComponent(run)}/pictures/${probe}`, { signal: options?.signal });
    return dataAddress(await response.blob());
  }

  probeWeights(run, { step, probe, layer, head = "mean" }, options) {
    const path = [run, "probes", step, probe, layer].map(encodeURIComponent).join("/");
    return this.#floats(`runs/${path}`, { head }, options);
  }

  /** The translation as it grows: yields {text} again and again, then the finished record. */
  stream(request, options) {
    return this.#events("stream", jsonRequest(request, options));
  }

  async *#events(path, request) {
    const response = await this.#answer(path, request);
    for await (const { event, data } of serverEvents(response.body)) {
      const told = JSON.parse(data);
      if (event === "error") throw new ApiError(told.code, told.message);
      yield { ...told, event };
    }
  }

  async #get(path, query, options) {
    return (await this.#answer(withQuery(path, query), { signal: options?.signal })).json();
  }

  async #post(path, request, options) {
    return (await this.#answer(path, jsonRequest(request, options))).json();
  }

  async #floats(path, query, options) {
    const response = await this.#answer(withQuery(path, query), { signal: options?.signal });
    const [rows, columns] = response.headers.get("X-Regard-Shape").split(",").map(Number);
    return { weights: new Float32Array(await response.arrayBuffer()), rows, columns };
  }

  async #answer(path, request) {
    const key = this.keyring?.key() ?? "";
    let response;
    try {
      response = await fetch(`${this.root}/${path}`, withKey(request, key));
    } catch (problem) {
      if (problem.name === "AbortError") throw problem;
      throw new ApiError("unreachable", "the server does not answer");
    }
    if (response.ok) return response;
    if (response.status === 401 && this.keyring) {
      await this.keyring.renew(key);
      return this.#answer(path, request);
    }
    const told = await response.json().catch(() => null);
    throw new ApiError(told?.error?.code ?? "http", told?.error?.message ?? `HTTP ${response.status}`, response.status);
  }
}

function dataAddress(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(blob);
  });
}

function jsonRequest(request, options) {
  const headers = { "Content-Type": "application/json" };
  return { method: "POST", headers, body: JSON.stringify(request), signal: options?.signal };
}

function withKey(request, key) {
  return key ? { ...request, headers: { ...request.headers, Authorization: `Bearer ${key}` } } : request;
}

function withQuery(path, query) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

/** Server-sent events out of a response's body: {event, data}. */
async function* serverEvents(body) {
  let waiting = "";
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (waiting + value).replaceAll("\r\n", "\n").split("\n\n");
      waiting = blocks.pop();
      for (const block of blocks) if (block.includes("data:")) yield eventOf(block);
    }
  } finally {
    reader.cancel().catch(() => null);
  }
}

function eventOf(block) {
  const fields = block.split("\n").map((line) => line.split(/:(.*)/s));
  const of = (name) => fields.filter(([field]) => field === name).map(([, value]) => value.replace(/^ /, ""));
  return { event: of("event")[0] ?? "message", data: of("data").join("\n") };
}
