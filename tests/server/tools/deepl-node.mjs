// npm `deepl-node`: forms with a repeated `text`. Says what it got as one line of JSON.
import { DeepLClient } from "deepl-node";

const [url, key, ...texts] = process.argv.slice(2);
const options = { serverUrl: url, maxRetries: 1 };
const client = new DeepLClient(key, options);
const refused = await new DeepLClient("wrong", options).getUsage().catch((error) => error.constructor.name);
console.log(
  JSON.stringify({
    refused,
    translated: await client.translateText(texts, null, "ko"),
    tagged: await client.translateText(`${texts[0]} <b>${texts[0]}</b>`, "en", "ko", { tagHandling: "html" }),
    sources: await client.getSourceLanguages(),
    targets: await client.getTargetLanguages(),
    usage: await client.getUsage(),
  }),
);
