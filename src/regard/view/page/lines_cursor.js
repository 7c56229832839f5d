/** The cursor of a line plot: a place along the horizontal axis, moved by mouse or arrow keys, whose values are read out. */

import { h, svg } from "./make.js";
import { t } from "./text.js";
import { linearScale, nearestIndex, readableNumber } from "./scales.js";

const NEAR_ENOUGH = 0.03; // of the axis: a point farther from the cursor is not read out

/** What moves over a plot; `asked()` gives the plot's options. */
export function linesCursor(asked) {
  const now = { drawn: null, x: null };
  let isOver = false;
  const readOut = h("p", { class: "read-out", "aria-live": "polite" }, "\u00a0");
  const show = (x) => {
    now.x = x;
    markPlace(now, asked());
    readOut.textContent = x === null ? asked().hint ?? t("lines.hint") : valuesToldAt(asked(), x);
  };
  const choose = () => now.x !== null && asked().onPoint?.(now.x);
  const wrapper = h("div", {
    class: "lines-frame",
    tabindex: 0,
    role: "group",
    "aria-label": `${asked().title ?? asked().yLabel}. ${t(asked().onPoint ? "lines.keysChoose" : "lines.keys")}`,
    onpointermove: (event) => ((isOver = true), show(xUnder(event, now, asked()))),
    onpointerleave: () => ((isOver = false), show(asked().resting ?? null)),
    onblur: () => ((isOver = false), show(asked().resting ?? null)),
    onclick: choose,
    onkeydown: (event) => {
      const moved = xByKey(event.key, now.x, placesOf(asked()));
      if (moved !== undefined) {
        event.preventDefault();
        isOver = true;
        show(moved);
      } else if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        choose();
      }
    },
  });
  return {
    readOut,
    wrap(node) {
      wrapper.append(node);
      if (asked().onPoint) wrapper.classList.add("can-choose");
      return wrapper;
    },
    over(drawn) {
      now.drawn = drawn;
      show((isOver ? now.x : null) ?? asked().resting ?? null);
    },
  };
}

function placesOf(options) {
  const places = options.xTicks?.map(([x]) => x) ?? options.series.flatMap((one) => one.points.map(([x]) => x));
  return [...new Set(places)].sort((one, other) => one - other);
}

function xByKey(key, x, places) {
  const last = places.length - 1;
  const at = x === null ? -1 : nearestIndex(places, x);
  const moves = { ArrowRight: at + 1, ArrowLeft: x === null ? last : at - 1, Home: 0, End: last };
  if (!(key in moves) || last < 0) return undefined;
  return places[Math.min(last, Math.max(0, moves[key]))];
}

function xUnder(event, { drawn }, options) {
  const places = placesOf(options);
  if (!drawn || !places.length) return null;
  const { frame, scales } = drawn;
  const box = drawn.picture.getBoundingClientRect();
  const [left, right] = [scales.x(places[0]), scales.x(places.at(-1))];
  const place = ((event.clientX - box.left) / box.width) * frame.width;
  return places[nearestIndex(places, linearScale(left, right, places[0], places.at(-1))(place))];
}

/** For each line, its point at the cursor. */
function pointsAt(options, x) {
  const places = placesOf(options);
  const reach = (places.at(-1) - places[0]) * NEAR_ENOUGH;
  return options.series.map((one) => {
    if (!one.points.length) return null;
    const point = one.points[nearestIndex(one.points.map(([at]) => at), x)];
    return Math.abs(point[0] - x) <= reach ? point : null;
  });
}

function valuesToldAt(options, x) {
  const place = options.xTicks?.find(([at]) => at === x)?.[1] ?? readableNumber(x);
  const values = pointsAt(options, x).map((point, index) => point && `${options.series[index].name} ${readableNumber(point[1])}`);
  return `${options.xLabel} ${place}: ${values.filter(Boolean).join(" · ")}`;
}

function markPlace({ drawn, x }, options) {
  if (!drawn) return;
  drawn.mark?.remove();
  if (x === null) return;
  const { frame, scales, colours } = drawn;
  const dots = pointsAt(options, x).filter(Boolean).map(([at, y]) =>
    svg("circle", { cx: scales.x(at), cy: scales.y(y), r: 5, fill: "none", stroke: colours.cursor, "stroke-width": 1.5 }));
  const rule = svg("path", { d: `M${scales.x(x)},${frame.top}V${frame.bottom}`, stroke: colours.faint, "stroke-dasharray": "3 3" });
  drawn.mark = svg("g", { class: "cursor" }, rule, dots);
  drawn.picture.append(drawn.mark);
}
