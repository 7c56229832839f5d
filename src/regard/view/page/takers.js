/** Which of the models takes what a view has to give: pictures or text. */

const WORDS = ["text", "beginning", "blanks"];

/** The chosen model where it takes pictures, else the first ready one that does. */
export function captionerOf(app) {
  return takerOf(app, "pictures");
}

/** The chosen model where it takes text, else the first ready one that does. */
export function translatorOf(app) {
  return takerOf(app, "text");
}

/** Whether a model is given words, to translate, to go on with, or with some missing. */
export function takesWords(model) {
  return WORDS.includes(model?.takes);
}

/** The chosen model where it takes words of any kind, else the first ready one that translates. */
export function wordTakerOf(app) {
  return takesWords(app.model()) ? app.model() : translatorOf(app);
}

function takerOf(app, given) {
  const takers = app.models().filter((model) => model.takes === given && model.is_ready);
  return takers.find((model) => model.name === app.model()?.name) ?? takers[0] ?? null;
}
