/** All heads of an attention as small maps, a row for each layer; a map is fetched when it scrolls into view. */

import { paintWeights } from "../../charts/heatmap.js";
import { moveFocus } from "../../components/controls.js";
import { t } from "../../core/i18n.js";
import { isDark } from "../../core/theme.js";
import { h, useEffect, useRef, useState } from "../../core/ui.js";
import { darkestWeight } from "../../math/head_stats.js";
import { shrunkMap } from "../../math/maps.js";

/** @import { AttentionMap } from "../../data/backend.js" */
/** @typedef {{ name: string, rowTitle: string, label: string, caption: string, isBest: boolean, isOff: boolean }} Head */
/** @typedef {{ title: string, heads: Head[] }} GridRow */

const THUMB_CELLS = 72; // at most, along each side
/** @param {{ rows: GridRow[], load: (name: string) => Promise<AttentionMap>, chosen: string, onChoose: (name: string) => void }} props */
export function HeadGrid({ rows, load, chosen, onChoose }) {
  return h(
    "div",
    { class: "head-rows", onKeyDown: (/** @type {any} */ event) => moveFocus(event, ".head-thumbs") },
    rows.map(({ title, heads }) =>
      h(
        "div",
        { key: title, class: "head-row", role: "group", "aria-label": title },
        h("h3", null, title),
        h(
          "div",
          { class: "head-thumbs" },
          heads.map((head) => h(Thumb, { key: head.name, head, load, isChosen: head.name === chosen, onChoose })),
        ),
      ),
    ),
  );
}

/** @param {{ head: Head, load: (name: string) => Promise<AttentionMap>, isChosen: boolean, onChoose: (name: string) => void }} props */
function Thumb({ head, load, isChosen, onChoose }) {
  const button = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const [map, setMap] = useState(/** @type {(AttentionMap & { most: number }) | "failed" | null} */ (null));
  useEffect(() => {
    let isGone = false;
    const observer = new IntersectionObserver(
      async ([entry]) => {
        if (!entry.isIntersecting) return;
        observer.disconnect();
        const whole = await load(head.name).catch(() => null);
        if (!isGone)
          setMap(
            whole
              ? {
                  ...shrunkMap(whole.weights, whole.rows, whole.columns, THUMB_CELLS),
                  most: darkestWeight(whole.weights, whole.columns),
                }
              : "failed",
          );
      },
      { rootMargin: "120px" },
    );
    observer.observe(/** @type {Element} */ (button.current));
    return () => {
      isGone = true;
      observer.disconnect();
    };
  }, [load, head.name]);
  const dark = isDark.value;
  const isPainted = map && map !== "failed";
  useEffect(() => {
    if (isPainted) paintWeights(/** @type {HTMLCanvasElement} */ (canvas.current), map, dark);
  }, [map, dark]);
  const ratio = isPainted ? Math.min(1.8, Math.max(0.55, map.columns / map.rows)) : 1;
  return h(
    "button",
    {
      ref: button,
      type: "button",
      class: `head-thumb${head.isBest ? " is-best" : ""}${map === "failed" ? " has-failed" : ""}${head.isOff ? " is-off" : ""}`,
      "data-name": head.name,
      "aria-pressed": isChosen,
      onClick: () => onChoose(head.name),
    },
    h("canvas", {
      ref: canvas,
      class: isPainted ? "is-painted" : "",
      style: { "aspect-ratio": String(ratio) },
      "aria-hidden": "true",
    }),
    h(
      "span",
      { class: "head-name" },
      h("span", { class: "only-heard" }, `${head.rowTitle}, `),
      head.label,
      head.isBest && [
        h("span", { class: "star", "aria-hidden": "true", title: t("heads.best") }, "★"),
        h("span", { class: "only-heard" }, ` ${t("heads.best")}`),
      ],
    ),
    head.isOff && h("span", { class: "head-caption" }, t("what_if.off")),
    head.caption && h("span", { class: "head-caption" }, head.caption),
  );
}
