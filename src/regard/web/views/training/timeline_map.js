/** The attention of one probe at one step, flowing from step to step; and over all steps, at how many tokens it attends. */

import { heatmap } from "../../charts/heatmap.js";
import { imageMaps, peakText } from "../../charts/image_maps.js";
import { lines } from "../../charts/lines.js";
import { Plot, SaveButtons } from "../../charts/plot.js";
import { nearestIndex } from "../../charts/scales.js";
import { SeenImage, WordPanels } from "../../components/image_words.js";
import { TokenSigns } from "../../components/token_row.js";
import { t } from "../../core/i18n.js";
import { useQuery, useWidth } from "../../core/query.js";
import { h, useEffect, useMemo, useRef, useState } from "../../core/ui.js";
import { headStats } from "../../math/head_stats.js";
import { wordMaps } from "../../math/image_attention.js";
import { betweenMaps } from "../../math/maps.js";
import { readableToken } from "../../math/tokens.js";
import { evenlyChosen } from "../../math/training_log.js";

/** @import { AttentionMap, ProbeLabels, AttentionRole, Side } from "../../data/backend.js" */
/** @import { ProbeMapName, ProbeMaps } from "../../data/probe_maps.js" */

/**
 * What is drawn of one probe at one step.
 * @typedef {object} Frame
 * @property {string} key frames with one key have the same labels, so that one can flow into the other
 * @property {string} attention the probe and the layer: within one attention the cursor stays on its cell
 * @property {AttentionRole} role
 * @property {AttentionMap} map
 * @property {ProbeLabels} labels
 * @property {Side} target
 * @property {string | null} image
 * @property {string} imageName
 * @property {string} run
 * @property {number} step
 */

const FLOW = 320; // ms from one map to the next
const MOST_FOCUS_STEPS = 40; // of a long run, evenly chosen
const [NARROWEST, WIDEST] = [260, 640]; // pixels of a map

/**
 * The frame with weights that move from those of the frame before, where both have the same labels.
 * @param {Frame | null} frame
 * @returns {{ frame: Frame, weights: Float32Array } | null}
 */
export function useFlow(frame) {
  const [shown, setShown] = useState(/** @type {{ frame: Frame, weights: Float32Array } | null} */ (null));
  const latest = useRef(shown);
  useEffect(() => {
    if (!frame) return;
    const before = latest.current;
    const show = (/** @type {Float32Array} */ weights) => {
      latest.current = { frame, weights };
      setShown(latest.current);
    };
    const isStill = !before || before.frame.key !== frame.key || matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (isStill) return show(frame.map.weights);
    const begin = performance.now();
    let request = 0;
    const advance = (/** @type {number} */ now) => {
      const share = Math.min(1, Math.max(0, (now - begin) / FLOW));
      show(betweenMaps(before.weights, frame.map.weights, share * (2 - share)));
      if (share < 1) request = requestAnimationFrame(advance);
    };
    request = requestAnimationFrame(advance);
    return () => cancelAnimationFrame(request);
  }, [frame]);
  return shown;
}

/** @param {{ frame: Frame, weights: Float32Array }} props */
export function FrameMap({ frame, weights }) {
  return frame.role === "image-cross" ? h(ImageMap, { frame, weights }) : h(TokenMap, { frame, weights });
}

/** @param {{ frame: Frame, weights: Float32Array }} props */
function TokenMap({ frame: { role, labels, run, step }, weights }) {
  const [box, width] = useWidth();
  const isCausal = role === "decoder-self";
  const rows = role === "encoder-self" || role === "image-self" ? labels.source : labels.target;
  const columns = isCausal ? labels.target : labels.source;
  const title = t("timeline.map_title", { run, step });
  const chart = useMemo(() => {
    const hidden = isCausal ? (/** @type {number} */ row, /** @type {number} */ column) => column > row : undefined;
    const size = { width: Math.max(NARROWEST, Math.min(WIDEST, width - 4)) };
    return heatmap(
      { weights, title, rows: rows.map(readableToken), columns: columns.map(readableToken), hidden },
      size,
    );
  }, [weights, title, width]);
  return h(
    "div",
    { ref: box },
    width > 0 && h(Plot, { chart }),
    h(TokenSigns, { tokens: [...labels.source, ...labels.target], labelOf: readableToken }),
  );
}

/** @param {{ frame: Frame, weights: Float32Array }} props */
function ImageMap({ frame: { target, image, imageName, run, step }, weights }) {
  const side = Math.round(Math.sqrt(weights.length / target.pieces.length));
  const grid = { image, rows: side, columns: side };
  const words = wordMaps(target, grid, weights);
  return h(
    "div",
    { class: "stack" },
    h(
      "div",
      { class: "region-words" },
      image && h(SeenImage, { image, label: imageName }),
      words.map((word, index) =>
        h(
          "div",
          { key: index, class: "region-word", role: "img", "aria-label": `${word.text}: ${peakText(word)}` },
          h(WordPanels, { grid, word }),
        ),
      ),
    ),
    h(SaveButtons, { chart: imageMaps({ grid, words, title: t("timeline.map_title", { run, step }) }) }),
  );
}

/** @param {{ probes: ProbeMaps, steps: number[], at: number, chosen: Omit<ProbeMapName, "step">, stepRange: [number, number], isOfImages: boolean, onStep: (index: number) => void }} props */
export function FocusPlot({ probes, steps, at, chosen, stepRange, isOfImages, onStep }) {
  const [box, width] = useWidth();
  const title = t(isOfImages ? "focus.title_pictures" : "focus.title");
  const axis = t(isOfImages ? "focus.axis_pictures" : "focus.axis");
  const query = useQuery(
    (signal) => focusCurve(probes, steps, chosen, signal),
    [probes, steps.length, steps.at(-1), chosen.probe, chosen.layer, chosen.head],
    { keepsData: true },
  );
  const chart = useMemo(() => {
    const series = [{ name: axis, points: query.data ?? [] }];
    return lines(
      { title, series, xLabel: t("training.step_axis"), yLabel: axis, xHeld: stepRange },
      { width, height: 230 },
    );
  }, [query.data, stepRange, width, title]);
  const goTo = (/** @type {number} */ step) => onStep(nearestIndex(steps, step));
  return h(
    "div",
    { class: "focus-plot" },
    h("h3", null, title),
    h(
      "div",
      { ref: box, class: "lines can-choose" },
      width > 0 &&
        h(Plot, { chart, hint: t("focus.hint"), rest: query.data?.length ? steps[at] : null, onSelect: goTo }),
    ),
  );
}

/**
 * Over the steps: at how many tokens or regions a map attends at once.
 * @param {ProbeMaps} probes
 * @param {number[]} steps
 * @param {Omit<ProbeMapName, "step">} chosen
 * @param {AbortSignal} signal
 */
async function focusCurve(probes, steps, chosen, signal) {
  /** @type {[step: number, reach: number][]} */
  const points = [];
  for (const step of evenlyChosen(steps, MOST_FOCUS_STEPS)) {
    const map = await probes.map({ ...chosen, step });
    signal.throwIfAborted();
    points.push([step, headStats(map.weights, map.rows, map.columns, false).reach]);
  }
  return points;
}
