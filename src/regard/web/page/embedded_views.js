// @ts-check
/** The views of a page whose data are within it. */

import { headsView } from "../views/heads/heads.js";
import { insideView } from "../views/inside/inside.js";
import { picturesView } from "../views/pictures/pictures.js";
import { positionsView } from "../views/positions/positions.js";
import { trainingView } from "../views/training/training.js";
import { translateView } from "../views/translate/translate.js";

/** @import { EmbeddedData } from "../data/embedded_data.js" */

/**
 * The views that have something to show; a text in one language has no translation.
 * @param {EmbeddedData} data
 */
export function viewsFor({ run, captions, models }) {
  if (run) return [trainingView];
  if (captions) return [picturesView, headsView];
  const own = [insideView, headsView, positionsView];
  return models[0].task === "translation" ? [translateView, ...own] : [headsView, insideView, positionsView];
}
