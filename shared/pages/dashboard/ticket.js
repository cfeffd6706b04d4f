/** One ticket: what was written, the draft to answer with, tickets like it, and the state of its AI work. */

import { get, getChanged } from "./api.js";
import { h } from "./dom.js";
import { card, copyable, crumbs, facts, fault, head, pill, priority, tag, when } from "./parts.js";
import { link } from "./router.js";
import { steps } from "./way.js";
import { CHANNELS, FINISHED, clock, word } from "./words.js";

const FINISHED_EVERY_MS = 10_000;
const ALIKE_FROM = 0.2;

/** Show a ticket and follow its AI work until it is finished. */
export function ticket(stage) {
  const path = `/v1/tickets/${encodeURIComponent(stage.args[0])}`;
  let job = null;
  let similar = null;
  stage.live(async (signal, mayHold) => {
    const isOpen = job !== null && !FINISHED.has(job.state);
    if (isOpen) job = await getChanged(job.job_id, mayHold && job, { signal });
    const known = await get(path, { signal });
    if (job?.state !== known.ai_state && known.job_id) job = await getChanged(known.job_id, null, { signal });
    const isDone = job === null || FINISHED.has(job.state);
    if ([null, "succeeded"].includes(known.ai_state)) similar ??= await likeIt(path, signal);
    stage.show(view(known, job, similar ?? []));
    return isDone ? FINISHED_EVERY_MS : 0;
  }, link("tickets"));
}

/** The nearest tickets that are near; none while there is nothing to compare. */
async function likeIt(path, signal) {
  try {
    const { items } = await get(`${path}/similar?k=5`, { signal });
    return items.filter(({ similarity }) => similarity >= ALIKE_FROM);
  } catch (error) {
    if (error.status === 409 || error.status === 404) return [];
    throw error;
  }
}

const view = (known, job, similar) => [
  crumbs("tickets", "Tickets", known.ticket_id),
  head(known.subject, null, [
    `${known.ticket_id} from `, customer(known), ", ", when(known.created_at),
  ]),
  h("div", { class: "columns uneven" },
    h("div", { class: "stack" },
      card("Message", h("p", { class: "prose" }, known.body || "The customer wrote a subject only.")),
      card("Draft reply", draft(known))),
    h("div", { class: "stack" },
      about(known),
      similar.length > 0 && alike(similar),
      job && job.state !== "succeeded" && [job.last_error && fault(job.last_error), steps(job)])),
];

const customer = ({ customer_id }) => h("a", { href: link("tickets", { customer_id }) }, customer_id);

function draft({ draft_reply, ai_state }) {
  if (draft_reply) return copyable(draft_reply, "The draft reply");
  const isOver = ai_state === null || FINISHED.has(ai_state);
  return h("p", { class: "quiet" }, isOver ? "There is none: the AI work did not get that far." : "Being written …");
}

const about = (known) =>
  card("About", facts([
    ["Team", known.team ? tag(known.team) : "not known yet"],
    ["Priority", known.priority ? priority(known.priority) : "not known yet"],
    ["AI work", known.job_id ? aiWork(known) : "done before this app"],
    ["Came by", CHANNELS[known.channel] ?? known.channel],
    ["Workspace", known.workspace_id],
    ["Created", clock(known.created_at)],
  ]));

const aiWork = ({ job_id, ai_state }) => h("a", { href: link(`jobs/${job_id}`) }, pill(ai_state));

const alike = (similar) =>
  card("Similar tickets", h("ul", { class: "plain" }, similar.map((one) =>
    h("li", { key: one.ticket_id },
      h("a", { href: link(`tickets/${one.ticket_id}`) }, one.subject),
      h("span", { class: "quiet small under" },
        `${one.ticket_id}${one.team ? ` · ${word(one.team)}` : ""} · ${Math.round(100 * one.similarity)} % alike`)))));
