/** The views of a page whose data stand in it: a file from disk, or a cell of a notebook. */

import { headsView } from "./view_heads.js";
import { insideView } from "./view_inside.js";
import { picturesView } from "./view_pictures.js";
import { positionsView } from "./view_positions.js";
import { trainingView } from "./view_training.js";
import { translateView } from "./view_translate.js";

/** Those that have something to show; a text of one language has no translation to look at. */
export function viewsFor({ run, pictures, models }) {
  if (run) return [trainingView];
  if (pictures) return [picturesView, headsView];
  return models[0].takes === "text" ? [translateView, insideView, headsView, positionsView] : [headsView, insideView, positionsView];
}
