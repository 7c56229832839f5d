// @ts-check
/** The page of a running server. */

import { createApiKey } from "../data/api_key.js";
import { httpBackend } from "../data/http.js";
import { compareView } from "../views/compare/compare.js";
import { decideView } from "../views/decide/decide.js";
import { headsView } from "../views/heads/heads.js";
import { insideView } from "../views/inside/inside.js";
import { languageView } from "../views/language/language.js";
import { picturesView } from "../views/pictures/pictures.js";
import { positionsView } from "../views/positions/positions.js";
import { startView } from "../views/start/start.js";
import { trainingView } from "../views/training/training.js";
import { translateView } from "../views/translate/translate.js";
import { mountPage } from "./page.js";

const apiKey = createApiKey();
mountPage(/** @type {HTMLElement} */ (document.getElementById("page")), {
  data: httpBackend("api/v1", apiKey),
  views: [
    startView,
    translateView,
    insideView,
    headsView,
    languageView,
    decideView,
    picturesView,
    positionsView,
    compareView,
    trainingView,
  ],
  apiKey,
  ownsDocument: true,
});
