/** Compare: the generations of the lineage on the same sentence, side by side, and their quality against length. */

import { clear, h } from "./make.js";
import { generationOf, modelCard } from "./compare_model.js";
import { qualityPart } from "./compare_quality.js";
import { emptyNote, lead } from "./notes.js";
import { sentenceBar } from "./sentence_bar.js";
import { t } from "./text.js";

export const compareView = { id: "compare", title: "compare.title", mount: mountCompare };

function mountCompare(root, app) {
  const view = { app, cards: [], names: "", row: h("div", { class: "compare-row" }) };
  const bar = sentenceBar(app, (text) => askAll(view, text));
  const quality = qualityPart(app);
  root.append(h("div", { class: "view" }, lead(t("compare.heading"), t("compare.lead")), bar.node, view.row, quality.node));
  const stopModel = app.onModel(() => app.state.source && askAll(view, app.state.source));
  return () => {
    stopModel();
    quality.stop();
    view.cards.forEach((one) => one.stop());
  };
}

/** Ask every model of the chosen one's languages; one after the other, so that each one's time is its own. */
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
  if (names === view.names && view.cards.length) return;
  view.cards.forEach((one) => one.stop());
  view.names = names;
  view.cards = models.map((model) => modelCard(view.app, model));
  clear(view.row, view.cards.map((one) => one.node), models.length < 2 && emptyNote(t("compare.onlyOne")));
}

/** The ready models that translate between the chosen one's languages, in the order of the lineage. */
function comparable(app) {
  const chosen = app.model();
  const isLike = (model) => model.is_ready && model.takes === "text" && model.source === chosen?.source && model.target === chosen?.target;
  return app.models().filter(isLike).sort((one, other) => generationOf(one.kind) - generationOf(other.kind));
}
