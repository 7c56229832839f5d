/** The attention of a run's probes at the steps where it was saved. A slider goes from step to step; each map flows into the next. */

import { nearestIndex } from "../../charts/scales.js";
import { attentionName, headOptions } from "../../components/attention_names.js";
import { Select } from "../../components/controls.js";
import { Card } from "../../components/layout.js";
import { Empty, Loading, Problem } from "../../components/placeholders.js";
import { t } from "../../core/i18n.js";
import { useQuery } from "../../core/query.js";
import { h, useEffect, useMemo, useState } from "../../core/ui.js";
import { indexParam } from "../../core/url.js";
import { createProbeMaps } from "../../data/probe_maps.js";
import { joinTokens } from "../../math/tokens.js";
import { isImageRun } from "../../math/training_log.js";
import { FocusPlot, FrameMap, useFlow } from "./timeline_map.js";

/** @import { Store } from "../../core/store.js" */
/** @import { RunProbes, RunRecord } from "../../data/backend.js" */
/** @import { ProbeMapName, ProbeMaps } from "../../data/probe_maps.js" */
/** @import { Frame } from "./timeline_map.js" */
/** @typedef {Pick<RunProbes, "labels" | "layers"> & { imageNames: string[] }} Saved */

const PAUSE = 800; // ms that a playing timeline stays at a step
const LONGEST_NAME = 60; // letters of a probe in the list

/** @param {{ store: Store, run: RunRecord, savedSteps: number[], stepRange: [number, number], isOver: boolean }} props */
export function Timeline({ store, run, savedSteps, stepRange, isOver }) {
  const isOfImages = isImageRun(run);
  const probes = useMemo(() => createProbeMaps(store.data, run.name), [store.data, run.name]);
  useEffect(() => probes.dispose, [probes]);
  const hasSteps = savedSteps.length > 0;
  const saved = useQuery(hasSteps && (() => savedProbes(probes, savedSteps.at(-1) ?? 0, isOfImages)), [
    probes,
    hasSteps,
  ]);
  return h(
    Card,
    { title: t("timeline.title"), explanation: t(isOfImages ? "timeline.hint_pictures" : "timeline.hint") },
    body(),
  );

  function body() {
    if (!hasSteps) return h(Empty, null, t(isOver ? "timeline.none_saved" : "timeline.none"));
    if (saved.error) return h(Problem, { error: saved.error });
    if (!saved.data) return h(Loading, null);
    if (!saved.data.layers.length) return h(Empty, null, t("timeline.no_attention"));
    return h(SavedAttention, { store, run, probes, saved: saved.data, steps: savedSteps, stepRange, isOfImages });
  }
}

/**
 * @param {ProbeMaps} probes
 * @param {number} step
 * @param {boolean} isOfImages
 */
async function savedProbes(probes, step, isOfImages) {
  const [{ labels, layers }, imageNames] = await Promise.all([
    probes.labels(step),
    isOfImages ? probes.imageNames() : [],
  ]);
  return { labels, layers, imageNames };
}

/**
 * @param {{ store: Store, run: RunRecord, probes: ProbeMaps, saved: Saved, steps: number[], stepRange: [number, number], isOfImages: boolean }} props
 */
function SavedAttention({ store, run, probes, saved, steps, stepRange, isOfImages }) {
  const { time, probe: probeText, probe_map: mapText } = store.url.value;
  const last = steps.length - 1;
  const at = time ? nearestIndex(steps, Number(time)) : last;
  const chosen = chosenMap(saved, probeText, mapText);
  const goTo = (/** @type {number} */ index) => store.set({ time: index >= last ? "" : String(steps[index]) }); // without a time, the newest step is shown
  const name = { ...chosen, step: steps[at] };
  const key = `${name.step}/${name.probe}/${name.layer}/${name.head}`;
  const frame = useQuery(() => loadFrame(probes, saved, run.name, name), [probes, key], { keepsData: true });
  const shown = useFlow(frame.data);
  return h(
    "div",
    { class: "stack" },
    h(Choices, { store, saved, chosen, isOfImages }),
    h(Ruler, { steps, at, onStep: goTo }),
    h(
      "div",
      { class: isOfImages ? "stack" : "timeline-pictures" },
      h(
        "div",
        { class: "timeline-map" },
        frame.error
          ? h(Problem, { error: frame.error })
          : shown && h(FrameMap, { key: shown.frame.attention, ...shown }),
      ),
      h(FocusPlot, { probes, steps, at, chosen, stepRange, isOfImages, onStep: goTo }),
    ),
  );
}

/**
 * The probe, layer and head in the address; else the first probe and the last attention from decoder to source, averaged over heads.
 * @param {Saved} saved
 * @param {string | undefined} probeText
 * @param {string | undefined} mapText "layer/head"
 */
function chosenMap({ labels, layers }, probeText, mapText) {
  const probe = indexParam(probeText, labels.length) ?? 0;
  const [layerText, head] = (mapText ?? "").split("/");
  const usual = layers.map(({ role }) => role === "cross" || role === "image-cross").lastIndexOf(true);
  const layer = indexParam(layerText, layers.length) ?? (usual < 0 ? layers.length - 1 : usual);
  return { probe, layer, head: String(indexParam(head, layers[layer].heads) ?? "mean") };
}

/**
 * @param {ProbeMaps} probes
 * @param {Saved} saved
 * @param {string} run
 * @param {ProbeMapName} name
 * @returns {Promise<Frame>}
 */
async function loadFrame(probes, saved, run, name) {
  const { step, probe, layer } = name;
  const { role } = saved.layers[layer];
  const [map, { labels, targets }] = await Promise.all([probes.map(name), probes.labels(step)]);
  const image = role === "image-cross" ? await probes.image(probe, labels[probe].image ?? "") : null;
  return {
    key: JSON.stringify([role, probe, labels[probe]]),
    role,
    map,
    labels: labels[probe],
    target: targets[probe],
    image,
    imageName: probeName(saved, probe),
    run,
    step,
    attention: `${probe}/${layer}`,
  };
}

/** @param {{ store: Store, saved: Saved, chosen: Omit<ProbeMapName, "step">, isOfImages: boolean }} props */
function Choices({ store, saved, chosen, isOfImages }) {
  const { labels, layers } = saved;
  const { probe, layer, head } = chosen;
  const probeOptions = labels.map(
    (_, index) => /** @type {[string, string]} */ ([String(index), probeName(saved, index)]),
  );
  const layerOptions = layers.map(
    (one, index) =>
      /** @type {[string, string]} */ ([
        String(index),
        `${attentionName(one.role)}, ${t("heads.layer", { layer: one.layer + 1 })}`,
      ]),
  );
  return h(
    "div",
    { class: "controls" },
    h(Select, {
      label: t(isOfImages ? "timeline.probe_pictures" : "timeline.probe"),
      options: probeOptions,
      value: String(probe),
      onChange: (value) => store.set({ probe: value }),
    }),
    h(Select, {
      label: t("timeline.layer"),
      options: layerOptions,
      value: String(layer),
      onChange: (value) => store.set({ probe_map: `${value}/mean` }),
    }),
    layers[layer].heads > 1 &&
      h(Select, {
        label: t("timeline.head"),
        options: headOptions(layers[layer].heads),
        value: head,
        onChange: (value) => store.set({ probe_map: `${layer}/${value}` }),
      }),
  );
}

/**
 * A sentence, or the file of an image and its caption.
 * @param {Saved} saved
 * @param {number} probe
 */
function probeName({ labels, imageNames }, probe) {
  const { image, source, target } = labels[probe];
  const file = image || imageNames[probe];
  const isImage = Boolean(file) || source.every((label) => /^\d+,\d+$/.test(label)); // the regions of an image are named by row and column
  const tokens = isImage || !source.length ? target : source;
  const letters = [...joinTokens(tokens.filter((token) => token !== "<s>" && token !== "</s>"))];
  const text = letters.length > LONGEST_NAME ? `${letters.slice(0, LONGEST_NAME - 3).join("")}…` : letters.join("");
  return file ? `${file}: ${text}` : text;
}

/** @param {{ steps: number[], at: number, onStep: (index: number) => void }} props */
function Ruler({ steps, at, onStep }) {
  const last = steps.length - 1;
  const [isPlaying, setPlaying] = useState(false);
  useEffect(() => {
    if (!isPlaying) return;
    const timer = setTimeout(() => (at >= last ? setPlaying(false) : onStep(at + 1)), PAUSE);
    return () => clearTimeout(timer);
  }, [isPlaying, at, last]);
  const toggle = () => {
    if (!isPlaying) onStep(at >= last ? 0 : at + 1);
    setPlaying(!isPlaying);
  };
  const text = t("timeline.step", { step: steps[at].toLocaleString("en") });
  const pull = (/** @type {Event} */ event) => onStep(Number(/** @type {HTMLInputElement} */ (event.target).value));
  return h(
    "div",
    { class: "timeline-ruler" },
    h(
      "button",
      { type: "button", class: "primary play", onClick: toggle },
      t(isPlaying ? "timeline.pause" : "timeline.play"),
    ),
    h("input", {
      type: "range",
      min: 0,
      max: last,
      value: at,
      "aria-label": t("timeline.slider"),
      "aria-valuetext": text,
      onInput: pull,
    }),
    h("output", { class: "timeline-step" }, text),
  );
}
