// @ts-check
/** The chapters of the lesson in their order. A new chapter is one file beside this one, and one line here. */

import { addNormChapter } from "./add_norm.js";
import { allAtOnceChapter } from "./all_at_once.js";
import { careChapter } from "./care.js";
import { decidingChapter } from "./deciding.js";
import { fourScoresChapter } from "./four_scores.js";
import { halvesChapter } from "./halves.js";
import { headsChapter } from "./heads.js";
import { imagesChapter } from "./images.js";
import { lookBackChapter } from "./look_back.js";
import { maskChapter } from "./mask.js";
import { oneVectorChapter } from "./one_vector.js";
import { orderChapter } from "./order.js";
import { pronounChapter } from "./pronoun.js";
import { queryKeyValueChapter } from "./query_key_value.js";
import { squareRootChapter } from "./square_root.js";

/** @import { Chapter } from "../chapter.js" */

/** @type {Chapter[]} */
export const CHAPTERS = [
  oneVectorChapter,
  lookBackChapter,
  fourScoresChapter,
  queryKeyValueChapter,
  pronounChapter,
  squareRootChapter,
  maskChapter,
  headsChapter,
  orderChapter,
  addNormChapter,
  allAtOnceChapter,
  imagesChapter,
  halvesChapter,
  careChapter,
  decidingChapter,
];
