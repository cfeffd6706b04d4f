/** A number's last 30 minutes as a line. They are kept in the page only. */

import { h } from "./dom.js";
import { age } from "./words.js";

const KEPT_MS = 30 * 60_000;
const SHORTEST_MS = 60_000;
const GAP_MS = 20_000; // nobody looked: no line is drawn across
const WIDTH = 600;
const HEIGHT = 96;

/** @typedef {{at: number, value: number}} Sample */

/** Add a sample and forget those that are too old. @param {Sample[]} samples */
export function keep(samples, value, at = Date.now()) {
  samples.push({ at, value });
  while (samples[0].at < at - KEPT_MS) samples.shift();
}

/** The line; its box has the height of the largest value. @param {Sample[]} samples */
export function spark(samples) {
  const last = samples.at(-1) ?? { at: 0, value: 0 };
  const span = Math.min(KEPT_MS, Math.max(SHORTEST_MS, last.at - (samples[0]?.at ?? 0)));
  const values = samples.map((sample) => sample.value);
  const highest = Math.max(...values);
  const top = Math.max(5, highest);
  const x = ({ at }) => (WIDTH * (1 - (last.at - at) / span)).toFixed(1);
  const y = ({ value }) => (HEIGHT - 2 - (HEIGHT - 6) * (value / top)).toFixed(1);
  const pieces = stretches(thinned(samples, span));
  const lines = pieces.map((piece) => `M${piece.map((sample) => `${x(sample)} ${y(sample)}`).join("L")}`);
  const areas = pieces.map((piece, at) => `${lines[at]}V${HEIGHT}H${x(piece[0])}Z`);
  return h("figure", { class: "spark" },
    h("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
      "aria-label": `Between ${age(Math.min(...values))} and ${age(highest)} in the last ${age(span / 1000)}` },
      h("path", { class: "spark-area", d: areas.join("") }),
      h("path", { class: "spark-line", d: lines.join("") }),
    ),
    h("figcaption", {},
      [`${age(span / 1000)} ago`, `at most ${age(highest)}`, "now"].map((text) => h("span", {}, text))),
  );
}

/** At most some 300 points: of each stretch of time the highest. */
function thinned(samples, span) {
  const kept = new Map();
  for (const sample of samples) {
    const slot = Math.floor(sample.at / Math.max(2000, span / 300));
    if (!kept.has(slot) || kept.get(slot).value <= sample.value) kept.set(slot, sample);
  }
  return [...kept.values()];
}

function stretches(samples) {
  const pieces = [];
  for (const sample of samples) {
    const piece = pieces.at(-1);
    if (piece && sample.at - piece.at(-1).at < GAP_MS) piece.push(sample);
    else pieces.push([sample]);
  }
  return pieces;
}
