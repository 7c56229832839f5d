// @ts-check
/** The page of a running server: it opens with the lesson; the module of the other views is loaded with the first of them. */

import { createApiKey } from "../data/api_key.js";
import { httpBackend } from "../data/http.js";
import { mountPage } from "../page/mount_page.js";
import { VIEW_LINKS } from "../page/view_links.js";
import { startView } from "../views/start/start.js";

/** @param {string} id */
const loadView = async (id) => {
  const { MORE_VIEWS } = await import("./more_views.js");
  return MORE_VIEWS[id];
};
const apiKey = createApiKey();
mountPage(/** @type {HTMLElement} */ (document.getElementById("page")), {
  data: httpBackend("api/v1", apiKey),
  views: [startView, ...VIEW_LINKS.map((link) => ({ ...link, load: () => loadView(link.id) }))],
  apiKey,
  ownsDocument: true,
});
