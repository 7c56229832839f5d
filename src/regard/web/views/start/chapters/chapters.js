// @ts-check
/** The chapters of the lesson in their order. A new chapter is one file beside this one, and one line here. */

import { fourScoresChapter } from "./four_scores.js";
import { lookBackChapter } from "./look_back.js";
import { queryKeyValueChapter } from "./query_key_value.js";
import { squareRootChapter } from "./square_root.js";

/** @import { Chapter } from "../chapter.js" */

/** @type {Chapter[]} */
export const CHAPTERS = [lookBackChapter, fourScoresChapter, queryKeyValueChapter, squareRootChapter];
