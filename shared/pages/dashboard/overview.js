/** How things are at a glance: one sentence, the oldest age, the numbers, the lane, the outbox, each kind. */

import { get } from "./api.js";
import { h } from "./dom.js";
import { card, facts, head, meter, pill, table } from "./parts.js";
import { link } from "./router.js";
import { sentence, trend } from "./sentence.js";
import { keep, spark } from "./spark.js";
import { KINDS, age, clock, count, counted, word } from "./words.js";

const EVERY_MS = 2000;
const WAITING = "waiting_for_approval";
const ARROWS = { rising: "↗", falling: "↘", steady: "→" };

/** Kept while the page is open, also when somebody looks at something else. */
const ages = [];

/** Show the queue's numbers. */
export function overview(stage) {
  stage.live(async (signal) => {
    const queue = await get("/v1/queue", { signal });
    keep(ages, queue.oldest_queued_seconds);
    stage.show(view(queue));
    return EVERY_MS;
  });
}

const view = (queue) => [
  head("Overview"),
  hero(queue),
  h("section", { class: "tiles", "aria-label": "Jobs by state" }, tiles(queue)),
  h("div", { class: "columns" }, h("div", { class: "stack" }, kinds(queue), outbox(queue)), lane(queue.provider)),
];

function hero(queue) {
  const { tone, text } = sentence(queue);
  const direction = trend(ages);
  return h("section", { class: `card hero ${tone}`, "aria-label": "How things are" },
    h("p", { class: "sentence" },
      h("span", { class: "dot", "aria-hidden": "true" }), h("span", { id: "sentence" }, text)),
    h("div", { class: "hero-body" },
      h("div", { class: `oldest ${queue.oldest_queued_seconds < 1 ? "steady" : direction}` },
        h("h2", {}, "Oldest job waits"),
        h("p", { class: "huge" }, age(queue.oldest_queued_seconds)),
        h("p", { class: "trend" }, h("span", { "aria-hidden": "true" }, ARROWS[direction]), ` ${direction}`)),
      spark(ages)));
}

function tiles(queue) {
  const tile = (name, label, number, below, target, tone = "") =>
    h("a", { key: name, class: `card tile ${number > 0 ? tone : ""}`, href: link("jobs", target) },
      h("span", { class: "tile-label" }, label),
      h("span", { class: "tile-number", id: `number-${name}` }, count(number)),
      h("span", { class: "quiet small" }, below));
  return [
    tile("queued", "Queued", queue.queued, `${count(queue.ready)} ready`, { state: "queued" }),
    tile("running", "Running", queue.running, "at work now", { state: "running" }, "busy"),
    tile("done", "Done", queue.finished_last_minute, "in the last minute", { state: "succeeded" }),
    tile("waiting", "For approval", queue.waiting_for_approval, "by a person", { state: WAITING }, "warn"),
    tile("dead", "Dead letters", queue.dead_letter, "retry or discard", { state: "dead_letter" }, "bad"),
    tile("failed", "Failed", queue.failed, "not tried again", { state: "failed" }),
  ];
}

function kinds(queue) {
  const rows = Object.entries(queue.kinds).map(([kind, numbers]) => ({
    key: kind,
    cells: [
      h("a", { href: link("jobs", { kind }) }, KINDS[kind] ? `${KINDS[kind]}s` : word(kind)),
      count(numbers.queued), count(numbers.ready), count(numbers.running), age(numbers.oldest_queued_seconds),
    ],
  }));
  const columns = [["Kind"], ["Queued", "number"], ["Ready", "number"], ["Running", "number"], ["Oldest", "number"]];
  const empty = () => h("p", { class: "quiet" }, "No job is queued or running.");
  return card("By kind", rows.length ? table("Live jobs by kind", columns, rows) : empty());
}

function lane(provider) {
  const { calls_available: calls, chat_rpm: rpm } = provider;
  return card("AI provider",
    calls !== null && h("div", { class: "meter-row" },
      h("p", {}, h("strong", {}, counted(calls, "call")), " available now"),
      h("p", { class: "quiet small" }, `${count(rpm)} a minute`),
      meter(calls / rpm, `${calls} of ${rpm}`)),
    facts([
      calls === null && ["Quota", "none set"],
      ["Paused", provider.paused_until ? `until ${clock(provider.paused_until)}` : "no"],
      ...Object.entries(provider.breakers).map(([endpoint, breaker]) => [word(endpoint), gateWord(breaker)]),
    ]),
    provider.reason && h("p", { class: "callout warn" }, provider.reason.replaceAll(/\b[a-z]+_[a-z_]+: /g, "")));
}

function gateWord({ state, retry_at }) {
  if (state === "closed") return pill("succeeded", "Working");
  if (state === "half_open") return pill(WAITING, "Being tried");
  return pill("dead_letter", retry_at ? `Not called until ${clock(retry_at)}` : "Not called");
}

const outbox = (queue) =>
  card("Outbox", facts([
    ["Not sent yet", counted(queue.outbox_pending, "message")],
    ["Oldest", age(queue.outbox_oldest_seconds)],
  ]));
