import assert from "node:assert/strict";
import test from "node:test";
import { embeddedBackend } from "../../src/regard/web/data/embedded.js";
import { ApiError } from "../../src/regard/web/data/errors.js";
import { shareRequests } from "../../src/regard/web/data/shared_request.js";
import { createTraces } from "../../src/regard/web/data/traces.js";

/** A backend whose traces are answered by hand. */
function backend() {
  const requests = [];
  const traces = (request, options) =>
    new Promise((resolve, reject) => {
      requests.push({ request, answer: () => resolve({ id: `trace ${requests.length}` }) });
      options?.signal?.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
    });
  return { requests, traces };
}

const REQUEST = { model: "m", text: "a" };

test("the same request is sent once", async () => {
  const data = backend();
  const traces = createTraces(data);
  const answers = Promise.all([traces.get(REQUEST), traces.get({ ...REQUEST })]);
  data.requests[0].answer();
  const [first, second] = await answers;
  assert.equal(first, second);
  assert.equal(await traces.get(REQUEST), first);
  assert.equal(data.requests.length, 1);
});

test("another target is another trace", async () => {
  const data = backend();
  const traces = createTraces(data);
  for (const request of [REQUEST, { ...REQUEST, target: "b" }]) {
    const answer = traces.get(request);
    data.requests.at(-1).answer();
    await answer;
  }
  assert.equal(data.requests.length, 2);
});

test("a request goes on for the caller that stays", async () => {
  const data = backend();
  const traces = createTraces(data);
  const controller = new AbortController();
  const leaving = traces.get(REQUEST, { signal: controller.signal });
  const staying = traces.get(REQUEST, { signal: new AbortController().signal });
  controller.abort();
  await assert.rejects(leaving, { name: "AbortError" });
  data.requests.at(-1).answer();
  assert.equal((await staying).id, "trace 1");
});

test("a caller that leaves and returns at once keeps its request", async () => {
  const data = backend();
  const traces = createTraces(data);
  const controller = new AbortController();
  const leaving = traces.get(REQUEST, { signal: controller.signal });
  controller.abort();
  const returned = traces.get(REQUEST);
  await assert.rejects(leaving, { name: "AbortError" });
  data.requests[0].answer();
  assert.equal((await returned).id, "trace 1");
});

test("a request ends when its last caller leaves", async () => {
  const data = backend();
  const traces = createTraces(data);
  const controller = new AbortController();
  const leaving = traces.get(REQUEST, { signal: controller.signal });
  controller.abort();
  await assert.rejects(leaving, { name: "AbortError" });
  const later = traces.get(REQUEST);
  data.requests[1].answer();
  assert.equal((await later).id, "trace 2");
});

test("a trace that the server has forgotten is made again, once", async () => {
  const data = backend();
  data.traces = async () => ({ id: String(data.requests.push(1)) });
  const traces = createTraces(data);
  const gone = new ApiError("trace_gone", "gone");
  const use = async ({ id }) => {
    if (id === "1") throw gone;
    return id;
  };
  assert.equal(await traces.withTrace(REQUEST, use), "2");
  assert.equal((await traces.get(REQUEST)).id, "2");
  await assert.rejects(
    traces.withTrace(REQUEST, async () => {
      throw gone;
    }),
    { code: "trace_gone" },
  );
});

test("a failed request is sent again", async () => {
  let count = 0;
  const traces = createTraces({
    traces: async () => {
      count += 1;
      if (count === 1) throw new Error("busy");
      return { id: "x" };
    },
  });
  await assert.rejects(traces.get(REQUEST));
  assert.equal((await traces.get(REQUEST)).id, "x");
});

test("requests at the same time share an answer, later ones do not", async () => {
  let count = 0;
  const { get } = shareRequests(async () => (count += 1));
  assert.deepEqual(await Promise.all([get({ a: 1 }), get({ a: 1 })]), [1, 1]);
  assert.equal(await get({ a: 1 }), 2);
  assert.deepEqual(await Promise.all([get({ a: 1 }), get({ a: 2 })]), [3, 4]);
});

test("a file of several sentences holds each by its text", async () => {
  const packed = (values) => ({
    shape: [1, 1, values.length],
    data: Buffer.from(Float32Array.from(values).buffer).toString("base64"),
  });
  const sentence = (number, source, weight) => ({
    source,
    trace: { id: `embedded-${number}`, text: source.toUpperCase(), layers: [] },
    weights: { 0: packed([weight]) },
  });
  const backend = embeddedBackend({ models: [], ...sentence(0, "a", 0.25), others: [sentence(1, "b", 0.5)] });
  assert.equal((await backend.traces({ model: "m", text: "b" })).id, "embedded-1");
  assert.equal((await backend.traces({ model: "m", text: "?" })).id, "embedded-0");
  assert.deepEqual([...(await backend.weights("embedded-1", { layer: 0, head: 0 })).weights], [0.5]);
  assert.deepEqual(
    (await backend.examples({})).examples.map(({ source, target }) => [source, target]),
    [
      ["a", "A"],
      ["b", "B"],
    ],
  );
});

test("two callers whose trace is gone share the new one", async () => {
  const requests = [];
  const data = { traces: async (request) => ({ id: `${requests.push(request)}` }) };
  const traces = createTraces(data);
  const use = async ({ id }) => {
    await new Promise((resolve) => setTimeout(resolve, 5 * Number(id)));
    if (id === "1") throw new ApiError("trace_gone", "gone");
    return id;
  };
  const late = async (trace) => {
    await new Promise((resolve) => setTimeout(resolve, 10));
    return use(trace);
  };
  assert.deepEqual(await Promise.all([traces.withTrace(REQUEST, use), traces.withTrace(REQUEST, late)]), ["2", "2"]);
  assert.equal(requests.length, 2);
});
