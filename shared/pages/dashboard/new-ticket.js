/** Sending a ticket: accepted at once, and the result as it comes. */

import { get } from "./api.js";
import { h } from "./dom.js";
import { copyable, facts, fault, field, head, pill } from "./parts.js";
import { link } from "./router.js";
import { sendOnce, whyNot } from "./send-once.js";
import { steps } from "./way.js";
import { CHANNELS, FINISHED, PRIORITIES, count, duration, word } from "./words.js";

const HELD_S = 20;

/** Show the form, and beside it what becomes of the ticket sent last. */
export function newTicket(stage) {
  const send = sendOnce("/v1/tickets");
  const desk = { isBusy: false, problem: null, accepted: null, took_ms: 0, job: null };
  const show = () => stage.show(view(desk, submit));
  let follow = null;
  const submit = async (event) => {
    event.preventDefault();
    if (desk.isBusy) return;
    const { customer_id, subject, body, channel } = Object.fromEntries(new FormData(event.target));
    Object.assign(desk, { isBusy: true, problem: null });
    show();
    const began = performance.now();
    try {
      desk.accepted = await send({ customer_id: customer_id.trim(), subject: subject.trim(), body, channel });
      Object.assign(desk, { took_ms: performance.now() - began, job: null });
      event.target.reset();
      follow?.abort();
      follow = new AbortController();
      stage.live(follower(desk, show), link("tickets/new"), follow.signal);
    } catch (error) {
      desk.problem = error;
    }
    desk.isBusy = false;
    show();
    document.querySelector("#new-ticket [aria-invalid]")?.focus();
  };
  show();
}

const follower = (desk, show) => async (signal, mayHold) => {
  desk.job = await get(`/v1/jobs/${desk.accepted.job_id}`, { signal, wait_s: mayHold ? HELD_S : 0 });
  show();
  return FINISHED.has(desk.job.state) ? null : 0;
};

const view = (desk, submit) => [
  h("p", { class: "crumbs" }, h("a", { href: link("tickets") }, "Tickets"), " / New"),
  head("New ticket", null, "It is accepted in milliseconds; team, priority and a draft reply follow."),
  h("div", { class: "columns" }, form(desk, submit), h("div", { class: "stack", "aria-live": "polite" }, desk.accepted && outcome(desk))),
];

function form({ isBusy, problem }, submit) {
  const wrong = problem?.fields ?? {};
  return h("form", { id: "new-ticket", class: "card", onsubmit: submit },
    field("Customer", h("input", { id: "customer_id", name: "customer_id", required: true, pattern: "C-[0-9]{4,5}", title: "C- and four or five digits", placeholder: "C-0022", autocomplete: "off" }), { problem: wrong.customer_id }),
    field("Subject", h("input", { id: "subject", name: "subject", required: true, maxlength: 120, placeholder: "Charged twice", autocomplete: "off" }), { problem: wrong.subject }),
    field("Message", h("textarea", { id: "body", name: "body", rows: 6, maxlength: 5000, placeholder: "Two payments for one order." }), { problem: wrong.body }),
    field("Came by", h("select", { id: "channel", name: "channel" }, Object.entries(CHANNELS).map(([value, text]) => h("option", { value, key: value }, text))), { problem: wrong.channel }),
    problem && h("p", { class: "bad", role: "alert", key: "problem" }, whyNot(problem)),
    h("div", { class: "actions end", key: "actions" }, h("button", { class: "primary", type: "submit", "aria-disabled": isBusy ? "true" : null }, "Send ticket")));
}

function outcome({ accepted, took_ms, job }) {
  const { ticket_id, job_id, queued_ahead: ahead, estimated_wait_seconds: wait_s } = accepted;
  const start = wait_s === null ? "" : wait_s < 1 ? ", starts now" : `, starts in about ${duration(wait_s)}`;
  const result = job?.state === "succeeded" ? job.result : null;
  return [
    h("section", { class: "card", key: "accepted" },
      h("h2", {}, `Accepted in ${duration(took_ms / 1000)}`),
      h("p", {}, h("a", { href: link(`tickets/${ticket_id}`) }, ticket_id), " with ", h("a", { href: link(`jobs/${job_id}`) }, `job ${job_id}`), " ", pill(job?.state ?? accepted.state)),
      !job && h("p", { class: "quiet" }, `${count(ahead)} ahead${start}.`),
      result && facts([["Team", word(result.team)], ["Priority", PRIORITIES[result.priority] ?? String(result.priority)]])),
    job && steps(job),
    job?.last_error && job.state !== "succeeded" && fault(job.last_error),
    result && h("section", { class: "card", key: "draft" }, h("h2", {}, "Draft reply"), copyable(result.draft_reply, "The draft reply")),
  ];
}
