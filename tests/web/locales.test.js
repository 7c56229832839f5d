import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { language, particle, t } from "../../src/regard/web/core/i18n.js";
import en from "../../src/regard/web/locales/en.json" with { type: "json" };
import ko from "../../src/regard/web/locales/ko.json" with { type: "json" };

const WEB = fileURLToPath(new URL("../../src/regard/web", import.meta.url));
const sources = readdirSync(WEB, { recursive: true })
  .filter((name) => name.endsWith(".js"))
  .map((name) => readFileSync(join(WEB, name), "utf-8"))
  .join("\n");
const placeholders = (text) => [...new Set([...text.matchAll(/\{(\w+)/g)].map(([, name]) => name))].sort();

test("both languages have the same messages", () => {
  assert.deepEqual(Object.keys(ko).sort(), Object.keys(en).sort());
});

test("a message has the same placeholders in both languages", () => {
  const differing = Object.keys(en).filter((key) => String(placeholders(en[key])) !== String(placeholders(ko[key])));
  assert.deepEqual(differing, []);
});

test("every message is used", () => {
  const isUsed = (key) => sources.includes(`"${key}"`) || key.startsWith("problem."); // the server's codes
  assert.deepEqual(
    Object.keys(en).filter((key) => !isUsed(key)),
    [],
  );
});

test("every key in a call of t exists", () => {
  const used = [...sources.matchAll(/\bt\("([^"]+)"/g)].map(([, key]) => key);
  assert.deepEqual(
    used.filter((key) => !(key in en)),
    [],
  );
});

const PARTICLES = {
  "은/는": { 세상: "은", 나무: "는", "world-transformer": "는", "rnn-attention": "은", "</s>": "는" },
  "을/를": { "“길”": "을", 단어: "를", "고양이(둘)": "을", 3: "을", 2: "를", "": "를" },
  "으로/로": { 집: "으로", 길: "로", 학교: "로", "4.90": "으로", 4.12: "로", model: "로" },
};
for (const [pair, words] of Object.entries(PARTICLES)) {
  test(`the particle ${pair} follows the sound before it`, () => {
    const [closed, open] = pair.split("/");
    for (const [word, expected] of Object.entries(words)) {
      for (const form of ["NFC", "NFD"]) assert.equal(particle(word.normalize(form), closed, open), expected, word);
    }
  });
}

test("a message has the particle that its value needs", () => {
  language.value = "ko";
  assert.ok(t("note.not_ready", { model: "세상" }).startsWith("세상은 "));
  assert.ok(t("note.not_ready", { model: "나무" }).startsWith("나무는 "));
  language.value = "en";
});
