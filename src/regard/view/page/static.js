/** The page in a file of its own: the views of one sentence, of some pictures or of a run, over the data that stands in the file. */

import { embeddedApi } from "./embedded.js";
import { startPage } from "./shell.js";
import { headsView } from "./view_heads.js";
import { insideView } from "./view_inside.js";
import { picturesView } from "./view_pictures.js";
import { trainingView } from "./view_training.js";
import { positionsView } from "./view_positions.js";
import { translateView } from "./view_translate.js";

const embeddedData = JSON.parse(document.getElementById("data").textContent);

startPage(document.getElementById("page"), {
  api: embeddedApi(embeddedData),
  views: viewsFor(embeddedData),
  usesAddress: true,
});

function viewsFor({ run, pictures }) {
  if (run) return [trainingView];
  return pictures ? [picturesView, headsView] : [translateView, insideView, headsView, positionsView];
}
