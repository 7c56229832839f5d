// @ts-check
/** The page in a notebook, as anywidget calls it: `render` returns how to end it. */

import { embeddedBackend } from "../data/embedded.js";
import { viewsFor } from "../page/embedded_views.js";
import { mountPage } from "../page/mount_page.js";

/** @param {{ model: { get(name: string): string }, el: HTMLElement }} given */
export function render({ model, el }) {
  const data = JSON.parse(model.get("data"));
  return mountPage(el, { data: embeddedBackend(data), views: viewsFor(data) });
}
