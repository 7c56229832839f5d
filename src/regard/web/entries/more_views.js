// @ts-check
/** The views of a server's page that it does not open with: a module of its own, in the order of their links. */

import { compareView } from "../views/compare/compare.js";
import { decideView } from "../views/decide/decide.js";
import { headsView } from "../views/heads/heads.js";
import { insideView } from "../views/inside/inside.js";
import { languageView } from "../views/language/language.js";
import { picturesView } from "../views/pictures/pictures.js";
import { positionsView } from "../views/positions/positions.js";
import { trainingView } from "../views/training/training.js";
import { translateView } from "../views/translate/translate.js";

/** @import { ViewComponent } from "../components/lazy_view.js" */

export const VIEWS = [
  translateView,
  insideView,
  headsView,
  languageView,
  decideView,
  picturesView,
  positionsView,
  compareView,
  trainingView,
];
/** @type {Record<string, ViewComponent>} */
export const MORE_VIEWS = Object.fromEntries(VIEWS.map(({ id, View }) => [id, View]));
