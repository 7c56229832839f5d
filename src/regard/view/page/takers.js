/** Which of the models takes what a view has to give: pictures or text. */

/** The chosen model where it takes pictures, else the first ready one that does. */
export function captionerOf(app) {
  return takerOf(app, "pictures");
}

/** The chosen model where it takes text, else the first ready one that does. */
export function translatorOf(app) {
  return takerOf(app, "text");
}

function takerOf(app, given) {
  const takers = app.models().filter((model) => model.takes === given && model.is_ready);
  return takers.find((model) => model.name === app.model()?.name) ?? takers[0] ?? null;
}
