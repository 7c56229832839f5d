/** Compare: the generations of the lineage on the same sentence, side by side, and their quality against length. */

import { clear, h } from "./make.js";
import { generationOf, modelCard } from "./compare_model.js";
import { qualityPart } from "./compare_quality.js";
import { emptyNote, lead } from "./notes.js";
import { sentenceBar } from "./sentence_bar.js";
import { translatorOf } from "./takers.js";
import { t } from "./text.js";

export const compareView = { id: "compare", title: "compare.title", mount: mountCompare };

function mountCompare(root, app) {
  const view = { app, cards: [], names: null, note: h("div"), row: h("div", { class: "compare-row" }) };
  const bar = sentenceBar(app, (text) => askAll(view, text));
  const quality = qualityPart(app);
  root.append(h("div", { class: "view" }, lead(t("compare.heading"), t("compare.lead")), bar.node, view.note, view.row, quality.node));
  const stopModel = app.onModel(() => app.state.source && askAll(view, app.state.source));
  return () => {
    stopModel();
    quality.stop();
    view.cards.forEach((one) => one.stop());
  };
}

/** Ask every model that is compared; one after the other, so that each one's time is its own. */
async function askAll(view, text) {
  buildCards(view);
  const round = (view.round = {});
  for (const one of view.cards) {
    if (view.round === round) await one.ask(text);
  }
}

function buildCards(view) {
  const models = comparable(view.app);
  const names = models.map((model) => model.name).join("\n");
  clear(view.note, whyThese(view.app, models));
  if (names === view.names) return;
  view.cards.forEach((one) => one.stop());
  view.names = names;
  view.cards = models.map((model) => modelCard(view.app, model));
  clear(view.row, view.cards.map((one) => one.node), models.length === 1 && emptyNote(t("compare.onlyOne")));
}

/** What is compared, where that is not what is chosen. */
function whyThese(app, models) {
  const chosen = app.model();
  if (!models.length) return emptyNote(t("compare.none"));
  return chosen?.takes === "pictures" && h("p", { class: "faint" }, t("compare.instead", { model: chosen.name }));
}

/** The ready models that translate between the languages of the chosen one (else of the first), in the order of the lineage. */
function comparable(app) {
  const first = translatorOf(app);
  const isLike = (model) => model.is_ready && model.takes === "text" && model.source === first?.source && model.target === first?.target;
  return app.models().filter(isLike).sort((one, other) => generationOf(one.kind) - generationOf(other.kind));
}
