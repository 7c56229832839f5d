// Translate lines with Firefox's engine: reads a JSON job on standard input, writes a JSON result to standard output.
// job: { model, vocabs: [path, ...], shortlist?, config: {option: value}, texts: [line, ...], repetitions }

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Worker } from "node:worker_threads";

const job = JSON.parse(readFileSync(0, "utf-8"));
// The worker is a CommonJS script inside a package that declares ES modules: Node runs it from a folder of its own.
const folder = mkdtempSync(join(tmpdir(), "bergamot-"));
process.on("exit", () => rmSync(folder, { recursive: true }));
const script = createRequire(import.meta.url).resolve("@browsermt/bergamot-translator/worker/translator-worker.js");
cpSync(dirname(script), folder, { recursive: true });
writeFileSync(join(folder, "package.json"), '{"type": "commonjs"}');
const worker = new Worker(join(folder, "translator-worker.js"));
const waiting = new Map();
worker.on("message", ({ id, result, error }) => {
  const { resolve, reject } = waiting.get(id);
  waiting.delete(id);
  error ? reject(new Error(error.message)) : resolve(result);
});
worker.on("error", fail);

function call(name, ...args) {
  return new Promise((resolve, reject) => {
    const id = waiting.size + 1;
    waiting.set(id, { resolve, reject });
    worker.postMessage({ id, name, args });
  });
}

function fail(error) {
  console.error(error.message);
  process.exit(1);
}

function readBuffer(path) {
  const bytes = readFileSync(path);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
}

async function main() {
  const pair = { from: "a", to: "b" };
  await call("initialize", { cacheSize: 0 });
  await call("loadTranslationModel", pair, {
    model: readBuffer(job.model),
    vocabs: job.vocabs.map(readBuffer),
    shortlist: job.shortlist ? readBuffer(job.shortlist) : new ArrayBuffer(0),
    config: job.config,
  });
  const texts = job.texts.map((text) => ({ text, html: false, qualityScores: false }));
  const seconds = [];
  let outputs;
  for (let repetition = 0; repetition < (job.repetitions ?? 1); repetition += 1) {
    const start = performance.now();
    outputs = await call("translate", { models: [pair], texts });
    seconds.push((performance.now() - start) / 1000);
  }
  process.stdout.write(JSON.stringify({ texts: outputs.map(({ target }) => target.text), seconds }));
  await worker.terminate();
}

main().catch(fail);
