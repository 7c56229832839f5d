/** Send every recorded request through both backends and compare: `node contract.js fixture.json`, run by test_contract.py. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { embeddedBackend } from "../../src/regard/web/data/embedded.js";
import { httpBackend } from "../../src/regard/web/data/http.js";

const NEAR = 1e-6; // sums of float32 numbers, in another order

/** How a request is made with a backend, by the method and the path that it becomes. */
const REQUESTS = [
  [/^GET models$/, (backend) => backend.models()],
  [/^POST traces$/, (backend) => backend.traces({ model: "m", text: "t" })],
  [/^GET traces\/(\w+)\/weights\?(.*)$/, (backend, id, query) => backend.weights(id, numbersOf(query))],
  [/^GET traces\/(\w+)\/rollout$/, (backend, id) => backend.rollout(id)],
  [/^GET traces\/(\w+)\/arithmetic\?(.*)$/, (backend, id, query) => backend.arithmetic(id, numbersOf(query))],
  [/^GET traces\/(\w+)\/alignment\?(.*)$/, (backend, id, query) => backend.alignment(id, numbersOf(query))],
  [/^POST captions\/stream$/, (backend) => last(backend.caption({ model: "m", example: 0 }))],
  [/^GET runs$/, (backend) => backend.runs()],
  [/^GET runs\/a%20run\/events/, (backend) => backend.runEvents("a run", 0)],
  [/^GET runs\/a%20run\/probes\?step=(\d+)$/, (backend, step) => backend.probes("a run", Number(step))],
  [
    /^GET runs\/a%20run\/probes\/(\d+)\/(\d+)\/(\d+)\?head=(\w+)$/,
    (backend, step, probe, layer, head) => backend.probeWeights("a run", { step, probe, layer, head }),
  ],
];

function numbersOf(query) {
  const pairs = [...new URLSearchParams(query)];
  return Object.fromEntries(pairs.map(([name, value]) => [name, /^\d+$/.test(value) ? Number(value) : value]));
}

async function last(events) {
  let found = null;
  for await (const event of events) found = event;
  return found;
}

/** The same shape and names; numbers as near as float32 is. */
function assertNear(found, expected, path) {
  if (typeof expected === "number") {
    assert.ok(
      Math.abs(found - expected) <= NEAR * Math.max(1, Math.abs(expected)),
      `${path}: ${found}, not ${expected}`,
    );
  } else if (expected && typeof expected === "object") {
    assert.deepEqual(Object.keys(found).sort(), Object.keys(expected).sort(), path);
    for (const name of Object.keys(expected)) assertNear(found[name], expected[name], `${path}.${name}`);
  } else assert.equal(found, expected, path);
}

const { data, answers } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const server = createServer((request, response) => {
  const path = `${request.method} ${request.url.replace("/api/v1/", "").replace(/stream\?.*$/, "stream")}`;
  const answer = answers[path];
  response.writeHead(answer ? 200 : 404, answer?.headers);
  response.end(
    answer ? Buffer.from(answer.body, "base64") : JSON.stringify({ error: { code: "none", message: path } }),
  );
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const http = httpBackend(`http://127.0.0.1:${server.address().port}/api/v1`);
const embedded = embeddedBackend(data);
assert.deepEqual(
  Object.keys(embedded)
    .filter((name) => typeof embedded[name] === "function")
    .sort(),
  Object.keys(http)
    .filter((name) => typeof http[name] === "function")
    .sort(),
);
let compared = 0;
for (const path of Object.keys(answers)) {
  const request = REQUESTS.find(([pattern]) => pattern.test(path));
  assert.ok(request, `no request for ${path}`);
  const values = request[0].exec(path).slice(1);
  assertNear(await request[1](embedded, ...values), await request[1](http, ...values), path);
  compared += 1;
}
server.close();
console.log(JSON.stringify({ compared }));
