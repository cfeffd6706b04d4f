/** One ticket: what was written, the draft to answer with, tickets like it, and the state of its AI work. */

import { get } from "./api.js";
import { h } from "./dom.js";
import { copyable, facts, fault, head, pill, when } from "./parts.js";
import { link } from "./router.js";
import { steps } from "./way.js";
import { CHANNELS, FINISHED, PRIORITIES, clock, word } from "./words.js";

const FINISHED_EVERY_MS = 10_000;
const HELD_S = 20;

/** Show a ticket and follow its AI work until it is finished. */
export function ticket(stage) {
  const path = `/v1/tickets/${encodeURIComponent(stage.args[0])}`;
  let job = null;
  let similar = null;
  stage.live(async (signal, mayHold) => {
    const isOpen = job !== null && !FINISHED.has(job.state);
    if (isOpen) job = await get(`/v1/jobs/${job.job_id}`, { signal, wait_s: mayHold ? HELD_S : 0 });
    const known = await get(path, { signal });
    if (known.job_id !== null && job?.state !== known.ai_state) job = await get(`/v1/jobs/${known.job_id}`, { signal });
    const isDone = job === null || FINISHED.has(job.state);
    if ([null, "succeeded"].includes(known.ai_state)) similar ??= await likeIt(path, signal);
    stage.show(view(known, job, similar));
    return isDone ? FINISHED_EVERY_MS : 0;
  }, link("tickets"));
}

/** The nearest tickets; an empty list while there is nothing to compare. */
async function likeIt(path, signal) {
  try {
    return (await get(`${path}/similar?k=5`, { signal })).items;
  } catch (error) {
    if (error.status === 409 || error.status === 404) return [];
    throw error;
  }
}

const view = (known, job, similar) => [
  h("p", { class: "crumbs" }, h("a", { href: link("tickets") }, "Tickets"), " / ", known.ticket_id),
  head(known.subject, null, [`${known.ticket_id} from `, h("a", { href: link("tickets", { customer_id: known.customer_id }) }, known.customer_id), ", ", when(known.created_at)]),
  h("div", { class: "columns uneven" },
    h("div", { class: "stack" },
      h("section", { class: "card" }, h("h2", {}, "Message"), h("p", { class: "prose" }, known.body || "The customer wrote a subject only.")),
      draft(known)),
    h("div", { class: "stack" }, about(known), similar && alike(similar), job && job.state !== "succeeded" && aiWork(job))),
];

function draft({ draft_reply, ai_state }) {
  return h("section", { class: "card" },
    h("h2", {}, "Draft reply"),
    draft_reply
      ? copyable(draft_reply, "The draft reply")
      : h("p", { class: "quiet" }, FINISHED.has(ai_state ?? "cancelled") ? "There is none: the AI work did not get that far." : "It is being written …"));
}

const about = (known) =>
  h("section", { class: "card" },
    h("h2", {}, "About"),
    facts([
      ["Team", known.team ? h("span", { class: "tag" }, word(known.team)) : "not known yet"],
      ["Priority", known.priority ? h("span", { class: `priority p${known.priority}` }, PRIORITIES[known.priority]) : "not known yet"],
      ["AI work", known.ai_state ? h("a", { href: link(`jobs/${known.job_id}`) }, pill(known.ai_state)) : "done before this app"],
      ["Came by", CHANNELS[known.channel] ?? known.channel],
      ["Workspace", known.workspace_id],
      ["Created", clock(known.created_at)],
    ]));

const aiWork = (job) => [job.last_error && fault(job.last_error), steps(job)];

const alike = (similar) =>
  similar.length > 0 &&
  h("section", { class: "card" },
    h("h2", {}, "Similar tickets"),
    h("ul", { class: "plain similar" }, similar.map((one) =>
      h("li", { key: one.ticket_id },
        h("a", { href: link(`tickets/${one.ticket_id}`) }, one.subject),
        h("span", { class: "quiet small under" }, `${one.ticket_id}${one.team ? ` · ${word(one.team)}` : ""} · ${Math.round(100 * one.similarity)} % alike`)))));
