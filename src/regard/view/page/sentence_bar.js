/** The sentence that views share, kept in app.state.source: where it is typed, with the examples of the chosen model. */

import { wordTakerOf } from "./takers.js";
import { composer } from "./translate_composer.js";

const FIRST_SENTENCE = "AI changes the world";
const MOST_EXAMPLES = 5;

/** A text box; `onSentence(text)` is told of each sentence, the first one without being asked. */
export function sentenceBar(app, onSentence) {
  const begun = app.state.source;
  const send = (text) => {
    app.setSource(text);
    onSentence(text);
  };
  const box = composer(app, send);
  const stop = app.onModel(() => (box.node.isConnected ? firstSentence(app).then(({ examples }) => box.setExamples(examples)) : stop()));
  firstSentence(app).then(({ text, examples }) => {
    if (!box.node.isConnected) return;
    box.setExamples(examples);
    if (app.state.source !== begun || (!begun && app.state.draft !== null)) return; // the reader has sent one, or begun to type
    box.setText(text);
    send(text);
  });
  return box;
}

/** The last sentence, else the first example; and the examples. */
async function firstSentence(app) {
  const model = wordTakerOf(app);
  const given = app.state.source || app.api.sourceText;
  if (!model || app.api.isEmbedded) return { text: given || FIRST_SENTENCE, examples: [] };
  const { examples } = await app.api.examples({ source: model.source, target: model.target, model: model.takes === "text" ? undefined : model.name }).catch(() => ({ examples: [] }));
  return { text: given || examples[0]?.source || FIRST_SENTENCE, examples: examples.slice(0, MOST_EXAMPLES) };
}
