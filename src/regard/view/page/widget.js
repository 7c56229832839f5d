/** The page in a notebook: the views of one sentence or picture in a cell's output, as anywidget asks for them. */

import { embeddedApi } from "./embedded.js";
import { viewsFor } from "./embedded_views.js";
import { h } from "./make.js";
import { startPage } from "./shell.js";

/** Draw the model's data in the cell's element. */
export function render({ model, el }) {
  const page = h("div", { class: "regard", style: { "min-height": "0" } });
  el.append(page);
  const data = JSON.parse(model.get("data"));
  startPage(page, {
    api: embeddedApi(data),
    views: viewsFor(data),
  });
}
