// npm `libretranslate-ts`: JSON, with a null key where there is none. Says what it got as one line of JSON.
import { createRequire } from "node:module";

const { libreTranslate } = createRequire(import.meta.url)("libretranslate-ts");
const [url, key, text] = process.argv.slice(2);
libreTranslate.setApiEndpoint(url.replace(/\/$/, ""));
const refused = await libreTranslate.translate(text, "en", "ko");
libreTranslate.setApiKey(key);
console.log(
  JSON.stringify({
    refused,
    translated: await libreTranslate.translate(text, "en", "ko", 2),
    detected: await libreTranslate.detect(text),
    languages: await libreTranslate.listLanguages(),
  }),
);
