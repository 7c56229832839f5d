/** The page in a notebook: the views of one sentence or picture in a cell's output, as anywidget asks for them. */

import { embeddedApi } from "./embedded.js";
import { h } from "./make.js";
import { startPage } from "./shell.js";
import { headsView } from "./view_heads.js";
import { insideView } from "./view_inside.js";
import { picturesView } from "./view_pictures.js";
import { positionsView } from "./view_positions.js";
import { translateView } from "./view_translate.js";

/** Draw the model's data in the cell's element. */
export function render({ model, el }) {
  const page = h("div", { class: "regard", style: { "min-height": "0" } });
  el.append(page);
  const data = JSON.parse(model.get("data"));
  startPage(page, {
    api: embeddedApi(data),
    views: data.pictures ? [picturesView, headsView] : [translateView, insideView, headsView, positionsView],
  });
}
