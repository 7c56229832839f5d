// @ts-check
/** What the links to the views need before their module is loaded; tests/web/shell.test.js compares it with the views. */

export const VIEW_LINKS = /** @type {const} */ ([
  { id: "translate", title: "translate.title", tasks: ["translation"] },
  { id: "inside", title: "inside.title" },
  { id: "heads", title: "heads.title" },
  { id: "language", title: "language.title", tasks: ["text-generation", "fill-mask"] },
  { id: "decide", title: "decide.title", tasks: ["classification"] },
  { id: "pictures", title: "pictures.title", tasks: ["image-to-text"] },
  { id: "positions", title: "positions.title" },
  { id: "compare", title: "compare.title" },
  { id: "training", title: "training.title" },
]);
