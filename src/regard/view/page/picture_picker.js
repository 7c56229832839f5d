/** A picture for a view that shows what a model did with it: the same one as in Pictures, or another. */

import { card } from "./notes.js";
import { pictureSource } from "./picture_source.js";
import { captionerOf } from "./takers.js";
import { t } from "./text.js";

/** A card to choose a picture with; `choose(given)` is told of each, the first one as soon as `begin()` is called. */
export function picturePicker(app, choose, signal) {
  const take = (given) => {
    const model = captionerOf(app);
    if (!model || model !== app.model()) return; // dropped while a model of text is chosen
    app.state.pictures = { given, of: model.name };
    source.mark(given.example);
    choose(given);
  };
  const source = pictureSource(app, take, signal);
  const node = card(t("pictures.given"), {}, source.node);
  return {
    node,
    async begin() {
      const model = captionerOf(app);
      if (!model) return;
      const count = await source.showExamples(model.name);
      if (signal.aborted || model.name !== captionerOf(app)?.name) return;
      if (app.api.isEmbedded) node.hidden = count < 2;
      const given = lastGiven(app, model) ?? (count ? { example: 0 } : null);
      if (given) take(given);
    },
  };
}

/** The reader's own picture; an example only where it is of this model, since another's has its own under that number. */
export function lastGiven({ state }, model) {
  const { given, of } = state.pictures ?? {};
  return given?.picture || of === model.name ? given : null;
}

/** The finished answer to a picture, without the words as they are said. */
export async function describedPicture(app, request, options) {
  let answer = null;
  for await (const { event, ...told } of app.api.describe(request, options)) if (event === "done") answer = told;
  return answer;
}
