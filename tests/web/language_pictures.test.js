import assert from "node:assert/strict";
import test from "node:test";
import { backendOf, openView, quiet } from "./opened_view.js";

const { givenImage } = await import("../../src/regard/web/components/use_image_choice.js");
const { languageView, promptOf } = await import("../../src/regard/web/views/language/language.js");
const { picturesView } = await import("../../src/regard/web/views/pictures/pictures.js");

const model = (name, task, more = {}) => ({ name, task, kind: task, source: "ko", target: null, is_ready: true, has_attention: true, ...more }); // biome-ignore format: one record

// --- Language ---

const continuation = (text) => ({ text, score: -0.5, log_probability: -1, is_finished: true });
const sideOf = (text) => {
  const words = text.split(" ");
  return { pieces: words, word_pieces: words.map((_, index) => [index]), words };
};
const layer = (number) => ({ role: "decoder-self", layer: number, heads: 2, queries: "target", keys: "target" });

function language({ waiting = [], task = "text-generation", ...more } = {}) {
  return backendOf(
    {
      models: () => ({ models: [model("lm", task, more)] }),
      examples: () => ({ examples: [{ source: "가 나" }] }),
      complete: ({ text, do_sample: sample }) => ({
        model: "lm",
        continuations: sample
          ? ["라", "마"].map((word) => continuation(`${text} ${word}`))
          : [continuation(`${text} 다`)],
      }),
      fill: ({ text }) => ({ text: text.replace("___", "나"), masks: [[{ token: "나", probability: 0.9 }]] }),
      traces: ({ text }) => ({
        id: text,
        text,
        source: sideOf(text),
        target: sideOf(text),
        layers: [layer(0), layer(1)],
      }),
      weights: (id) => {
        const size = id.split(" ").length;
        return { weights: new Float32Array(size * size).fill(1 / size), rows: size, columns: size };
      },
    },
    { waiting },
  );
}
const labels = (page) => page.texts(".map-drawing text");

test("a prompt is continued, sampled and its attention shown", async () => {
  const page = await openView(languageView, language());
  assert.equal(page.store.text.value, "가 나");
  assert.deepEqual(page.texts(".output-text"), ["가 나 다", "가 나 라", "가 나 마"]);
  assert.ok(labels(page).includes("다"));
  page.leave();
});

test("another continuation is looked into and named in the address", async () => {
  const page = await openView(languageView, language());
  page.root.querySelectorAll(".output")[2].click();
  await quiet();
  assert.equal(page.store.url.value.look, "가 나 마");
  assert.ok(labels(page).includes("마"));
  page.leave();
});

test("to show the attention of a continuation leaves the prompt in the address", async () => {
  const page = await openView(languageView, language());
  for (const output of page.root.querySelectorAll(".output")) {
    output.click();
    await quiet();
    assert.equal(page.store.url.value.text, "가 나");
    assert.equal(page.store.text.value, "가 나");
  }
  page.leave();
});

test("other views get the continuation and lead back to the prompt", async () => {
  const page = await openView(languageView, language());
  page.root.querySelector("button.link").click();
  const { view, text, prompt } = page.store.url.value;
  assert.deepEqual({ view, text, prompt }, { view: "heads", text: "가 나 다", prompt: "가 나" });
  assert.equal(promptOf(page.store.url.value), "가 나");
  assert.equal(promptOf({ ...page.store.url.value, text: "another" }), "another");
  page.leave();
});

test("the address chooses temperature and layer", async () => {
  const data = language();
  const page = await openView(languageView, data, { text: "가", temperature: "0.4", layer: "0" });
  assert.equal(page.find(".slider .number").textContent, "0.4");
  const sampled = data.log.find(({ name, given }) => name === "complete" && given[0].do_sample);
  assert.equal(sampled.given[0].temperature, 0.4);
  assert.deepEqual(
    data.log.filter(({ name }) => name === "weights").map(({ given }) => given[1].layer),
    [0],
  );
  page.leave();
});

test("blanks are filled, and a text without any is explained", async () => {
  const page = await openView(languageView, language({ task: "fill-mask", fills_masks: true }), { text: "가 ___ 다" });
  assert.equal(page.find(".growing").textContent, "가 나 다");
  assert.deepEqual(page.texts(".bars .bar-word"), ["나"]);
  page.store.set({ text: "가 다" });
  await quiet();
  assert.match(page.find(".empty").textContent, /no blank/);
  page.leave();
});

test("an encoder without a head shows attention and fills nothing", async () => {
  const data = language({ task: "fill-mask", fills_masks: false });
  const page = await openView(languageView, data, { text: "가 ___ 다" });
  assert.match(page.find("h1").textContent, /Attention of an encoder/);
  assert.equal(data.log.filter(({ name }) => name === "fill").length, 0);
  assert.ok(data.log.some(({ name }) => name === "weights"));
  page.leave();
});

test("a model that the server loads is not called untrained", async () => {
  const page = await openView(languageView, language({ is_ready: false, run: null }), { text: "가" });
  assert.match(page.find(".empty").textContent, /being loaded/);
  page.leave();
});

for (const name of ["complete", "traces", "weights"]) {
  test(`leaving Language while ${name} loads ends its requests`, async () => {
    const data = language({ waiting: [name] });
    const page = await openView(languageView, data);
    page.leave();
    await quiet();
    const open = data.log.filter((request) => request.name === name);
    assert.ok(open.length > 0 && open.every(({ isAborted }) => isAborted));
  });
}

// --- Pictures ---

const PICTURE = "data:image/png;base64,AA==";
const CAPTION = {
  event: "done",
  id: "7",
  model: "eye",
  text: "a dog",
  image: PICTURE,
  rows: 2,
  columns: 2,
  gold: { words: ["a", "dog"], boxes: [[], [[0.5, 0.5, 1, 1]]] },
  log_probabilities: [Math.log(0.5), Math.log(0.25), 0],
  source: sideOf("1,1 1,2 2,1 2,2"),
  target: { pieces: ["<s>", "▁a", "▁dog"], word_pieces: [[0], [1], [2]], words: ["<s>", "a", "dog"] },
  layers: [{ role: "image-cross", layer: 0, heads: 2, queries: "target", keys: "image" }],
};
const WEIGHTS = Float32Array.of(0.7, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.7, 0.25, 0.25, 0.25, 0.25);

function captioner({
  waiting = [],
  caption = CAPTION,
  weights = () => ({ weights: WEIGHTS, rows: 3, columns: 4 }),
} = {}) {
  const data = backendOf(
    {
      models: () => ({ models: [model("eye", "image-to-text"), model("other", "image-to-text")] }),
      exampleImages: () => ({
        examples: [0, 1].map((number) => ({ number, captions: [`image ${number}`], has_boxes: true })),
      }),
      exampleImage: () => PICTURE,
      weights,
      arithmetic: () => Promise.reject(Object.assign(new Error("not in this file"), { code: "embedded" })),
    },
    { waiting },
  );
  data.caption = async function* (request, options) {
    data.begun("caption", [request, options]);
    yield { event: "image", image: PICTURE, rows: 2, columns: 2 };
    yield { event: "partial", text: "a", words: [{ text: "a", weights: [0.7, 0.1, 0.1, 0.1] }] };
    if (waiting.includes("caption")) await data.never(options.signal);
    yield caption;
  };
  return data;
}

test("words are shown while the caption grows, and cannot be chosen yet", async () => {
  const data = captioner({ waiting: ["caption"] });
  const page = await openView(picturesView, data);
  assert.deepEqual(page.texts("div.region-word b"), ["a"]);
  assert.equal(page.find("button.region-word"), null);
  page.leave();
  await quiet();
  assert.ok(data.log.filter(({ name }) => name === "caption").every(({ isAborted }) => isAborted));
});

test("each word of the caption has its maps, and hits are counted", async () => {
  const page = await openView(picturesView, captioner(), { word: "1" });
  assert.deepEqual(page.texts("button.region-word b"), ["a", "dog"]);
  const pressed = [...page.root.querySelectorAll("button.region-word")].map((one) => one.getAttribute("aria-pressed"));
  assert.deepEqual(pressed, ["false", "true"]);
  assert.match(page.root.textContent, /for 1 of 1 words/);
  const cells = page.root
    .querySelectorAll("button.region-word")[1]
    .querySelector("svg")
    .querySelectorAll("rect[fill-opacity]");
  assert.deepEqual(
    [...cells].map((cell) => Number(cell.getAttribute("fill-opacity")) > 0),
    [true, true, true, false],
  );
  page.leave();
});

test("the address chooses the image, and another model begins with its own", async () => {
  const data = captioner();
  const page = await openView(picturesView, data, { model: "eye", image: "1" });
  const described = () =>
    data.log.filter(({ name }) => name === "caption").map(({ given }) => [given[0].model, given[0].example]);
  assert.deepEqual(described(), [["eye", 1]]);
  page.store.set({ model: "other" });
  await quiet();
  await quiet();
  assert.deepEqual(described().at(-1), ["other", 0]);
  page.leave();
});

test("the reader's own image outlives a change of the model", () => {
  const examples = [{ number: 0 }, { number: 1 }];
  const own = { blob: {} };
  assert.deepEqual(givenImage(examples, "", own), { image: own.blob });
  assert.deepEqual(givenImage(examples, "1", own), { example: 1 });
  assert.deepEqual(givenImage(examples, "77", null), { example: 0 });
  assert.equal(givenImage([], "0", null), null);
});

test("an image whose trace the server has forgotten is described again", async () => {
  let isGone = true;
  const weights = () => {
    if (!isGone) return { weights: WEIGHTS, rows: 3, columns: 4 };
    isGone = false;
    throw Object.assign(new Error("gone"), { code: "trace_gone" });
  };
  const data = captioner({ weights });
  const page = await openView(picturesView, data);
  await quiet();
  assert.equal(data.log.filter(({ name }) => name === "caption").length, 2);
  assert.deepEqual(page.texts("button.region-word b"), ["a", "dog"]);
  page.leave();
});

test("a model without attention has a caption alone", async () => {
  const page = await openView(picturesView, captioner({ caption: { ...CAPTION, layers: [] } }));
  assert.match(page.find(".explain").textContent, /eye has no attention/);
  assert.equal(page.root.querySelectorAll(".region-word").length, 0);
  page.leave();
});
