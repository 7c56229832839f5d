/** The beam search of the sentence as a tree. */

import { beamTree } from "../../charts/beam_tree.js";
import { Plot } from "../../charts/plot.js";
import { Slider } from "../../components/controls.js";
import { Card } from "../../components/layout.js";
import { Loading, Problem } from "../../components/placeholders.js";
import { asRequest, changesOf } from "../../components/what_if/experiment.js";
import { t } from "../../core/i18n.js";
import { useQuery } from "../../core/query.js";
import { h, useEffect, useMemo, useState } from "../../core/ui.js";
import { numberParam } from "../../core/url.js";

/** @import { Store } from "../../core/store.js" */
/** @import { Model } from "../../data/backend.js" */

const LARGEST_BEAM = 8;
const USUAL_BEAM = 4;

/** @param {{ store: Store, model: Model, text: string }} props */
export function BeamCard({ store, model, text }) {
  const isOpen = store.url.value.tree === "1";
  const toggle = {
    type: "button",
    "aria-expanded": String(isOpen),
    onClick: () => store.set({ tree: isOpen ? "" : "1" }),
  };
  return h(
    Card,
    { title: t("beam.title"), beside: h("button", toggle, t(isOpen ? "what_if.close" : "beam.open")) },
    h("p", { class: "faint small" }, t("beam.text")),
    isOpen && h(Tree, { store, model, text }),
  );
}

/** @param {{ store: Store, model: Model, text: string }} props */
function Tree({ store, model, text }) {
  const size = Math.round(numberParam(store.url.value.beam, { min: 1, max: LARGEST_BEAM, usual: USUAL_BEAM }));
  const [moved, setMoved] = useState(size);
  useEffect(() => setMoved(size), [size]); // Back sets it, too
  const changes = changesOf(store);
  const query = useQuery(
    (signal) => store.data.beam({ model: model.name, text, beam_size: size, ...asRequest(changes) }, { signal }),
    [model.name, text, size, changes.join("\n")],
    { keepsData: true },
  );
  const title = `${text} ${t("beam.title")}`;
  const chart = useMemo(() => query.data && beamTree({ nodes: query.data.nodes, title }), [query.data, title]);
  return h(
    "div",
    { class: "stack" },
    h(Slider, {
      label: t("beam.size"),
      min: 1,
      max: LARGEST_BEAM,
      value: moved,
      onChange: setMoved,
      onCommit: (value) => store.set({ beam: value === USUAL_BEAM ? "" : String(value) }),
    }),
    query.error && h(Problem, { error: query.error }),
    chart
      ? h("div", { class: "tree-scroll" }, h(Plot, { chart, hint: t("beam.hint") }))
      : query.isLoading && h(Loading, null),
  );
}
