/** The page of a running server: all views over its API. A view more is a line more here. */

import { Api } from "./api.js";
import { makeKeyring } from "./keyring.js";
import { startPage } from "./shell.js";
import { compareView } from "./view_compare.js";
import { headsView } from "./view_heads.js";
import { insideView } from "./view_inside.js";
import { languageView } from "./view_language.js";
import { picturesView } from "./view_pictures.js";
import { positionsView } from "./view_positions.js";
import { trainingView } from "./view_training.js";
import { translateView } from "./view_translate.js";

const VIEWS = [translateView, insideView, headsView, languageView, picturesView, positionsView, compareView, trainingView];

const place = document.getElementById("page");
startPage(place, { api: new Api("api/v1", makeKeyring(place)), views: VIEWS, usesAddress: true });
