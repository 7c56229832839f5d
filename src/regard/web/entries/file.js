// @ts-check
/** The page in a single file, over the data within it. */

import { embeddedBackend } from "../data/embedded.js";
import { viewsFor } from "../page/embedded_views.js";
import { mountPage } from "../page/mount_page.js";

const data = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("data")).textContent ?? "");
const root = /** @type {HTMLElement} */ (document.getElementById("page"));
mountPage(root, { data: embeddedBackend(data), views: viewsFor(data), ownsDocument: true });
