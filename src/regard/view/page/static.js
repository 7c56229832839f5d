/** The page in a file of its own: the views of one sentence, of some pictures or of a run, over the data that stands in the file. */

import { embeddedApi } from "./embedded.js";
import { viewsFor } from "./embedded_views.js";
import { startPage } from "./shell.js";

const embeddedData = JSON.parse(document.getElementById("data").textContent);

startPage(document.getElementById("page"), {
  api: embeddedApi(embeddedData),
  views: viewsFor(embeddedData),
  usesAddress: true,
});
