// Every public method of the npm clients, called against a real server. Says what came of each as one line of JSON.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const [url, key, text, input, output] = process.argv.slice(2);

const { DeepLClient, GlossaryEntries } = require("deepl-node");
const { libreTranslate } = require("libretranslate-ts");
const { Translate } = await import("translate");
const entries = new GlossaryEntries({ entries: { one: "하나" } });

// What is passed for a parameter, by its name in the source of the client.
const values = {
  texts: text, text, query: text, sourceLang: "en", targetLang: "ko", source: "en", target: "ko", name: "a name",
  sourceLanguageCode: "en", targetLanguageCode: "ko", glossaryId: "an-id", glossary: "an-id", styleId: "an-id",
  instructionId: "an-id", jobId: "an-id", translationMemory: "an-id", csvFile: "one,하나", csvContent: "one,하나",
  entries, glossaryDicts: [{ sourceLangCode: "en", targetLangCode: "ko", entries }],
  glossaryDict: { sourceLangCode: "en", targetLangCode: "ko", entries },
  styleRule: { name: "a name", language: "ko" }, configuredRules: {}, instruction: { label: "a", prompt: "b" },
  inputFile: input, inputPath: input, fileName: "a.tmx", contentLength: 3,
  fileBuffer: Buffer.from("abc"), 
  translationMemoryImport: { uploadUrl: `${url}v3/translation_memories/import/an-id` },
  job: { results: [{ downloadUrl: `${url}v3/translation_memories/an-id/export` }] },
  key, apiKey: key, endpoint: url.replace(/\/$/, ""), apiEndpoint: url.replace(/\/$/, ""),
};

async function call(object, name) {
  const [, list] = /\(([^)]*)\)/.exec(object[name].toString()) ?? [];
  const required = (list ?? "").split(",").map((one) => one.trim()).filter((one) => one && !one.includes("="));
  const given = { ...values, outputFile: `${output}.${name}` };  // a file that does not exist yet
  try {
    const result = await object[name](...required.map((one) => given[one]));
    return result?.error ? { refused: result.error } : { works: true };
  } catch (error) {
    return { refused: String(error.message ?? error) };
  }
}

function methods(object) {
  const names = new Set();
  for (let one = Object.getPrototypeOf(object); one !== Object.prototype; one = Object.getPrototypeOf(one)) {
    for (const name of Object.getOwnPropertyNames(one)) names.add(name);
  }
  const isPublic = (name) => typeof object[name] === "function" && !/^(constructor|_|internal)/.test(name);
  return [...names].filter((name) => isPublic(name) && name !== "constructUserAgentString").sort();
}

const deepl = new DeepLClient(key, { serverUrl: url, maxRetries: 1, minTimeout: 1000 });
libreTranslate.setApiEndpoint(values.apiEndpoint);
libreTranslate.setApiKey(key);
const outcomes = { "deepl-node": {}, "libretranslate-ts": {}, translate: {} };
values.handle = await deepl.uploadDocument(input, "en", "ko");
await deepl.isDocumentTranslationComplete(values.handle);
for (const name of methods(deepl)) outcomes["deepl-node"][name] = await call(deepl, name);
for (const name of methods(libreTranslate)) outcomes["libretranslate-ts"][name] = await call(libreTranslate, name);
const engine = { engine: "libre", url: `${url}translate`, from: "en", to: "ko", key };
outcomes.translate.translate = await new Translate(engine)(text)
  .then(() => ({ works: true }), (error) => ({ refused: error.message }));
console.log(JSON.stringify(outcomes));
process.exit(0);
