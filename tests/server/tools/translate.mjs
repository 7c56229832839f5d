// npm `translate` with its LibreTranslate engine: JSON. Says what it got as one line of JSON.
import { Translate } from "translate";

const [url, key, text] = process.argv.slice(2);
const settings = { engine: "libre", url: `${url}translate`, from: "en", to: "ko" };
// Refused first: it remembers a translation, whichever key it came with.
const refused = await new Translate({ ...settings, key: "wrong" })(text).catch((error) => error.message);
const translated = await new Translate({ ...settings, key })(text);
console.log(JSON.stringify({ translated, refused }));
