/** Sending a ticket: accepted at once, and the result as it comes. */

import { getChanged } from "./api.js";
import { h } from "./dom.js";
import { field, formEnd, options, submitting } from "./form.js";
import { card, copyable, crumbs, facts, fault, head, pill, priority, tag } from "./parts.js";
import { link } from "./router.js";
import { sendOnce } from "./send-once.js";
import { CHANNELS, FINISHED, count, duration } from "./words.js";
import { steps } from "./way.js";

/** Show the form, and beside it what becomes of the ticket sent last. */
export function newTicket(stage) {
  const post = sendOnce("/v1/tickets");
  const desk = { isBusy: false, problem: null, accepted: null, took_ms: 0, job: null };
  const show = () => stage.show(view(desk, submit));
  let follow = new AbortController();
  const send = async (data) => {
    const { customer_id, subject, body, channel } = Object.fromEntries(data);
    const began = performance.now();
    const accepted = await post({ customer_id: customer_id.trim(), subject: subject.trim(), body, channel });
    return { accepted, took_ms: performance.now() - began, job: null };
  };
  const submit = submitting(desk, show, send, (answer, form) => {
    Object.assign(desk, answer);
    form.reset();
    follow.abort();
    follow = new AbortController();
    stage.live(follower(desk, show), link("tickets/new"), follow.signal);
  });
  show();
}

const follower = (desk, show) => async (signal, mayHold) => {
  desk.job = await getChanged(desk.accepted.job_id, mayHold && desk.job, { signal });
  show();
  return FINISHED.has(desk.job.state) ? null : 0;
};

const view = (desk, submit) => [
  crumbs("tickets", "Tickets", "New"),
  head("New ticket", null, "It is accepted in milliseconds; team, priority and a draft reply follow."),
  h("div", { class: "columns" },
    form(desk, submit),
    h("div", { class: "stack", "aria-live": "polite" }, desk.accepted && outcome(desk))),
];

function form(desk, submit) {
  const wrong = desk.problem?.fields ?? {};
  const customer = { id: "customer_id", required: true, pattern: "C-[0-9]{4,5}", title: "C- and four or five digits" };
  const message = { id: "body", rows: 6, maxlength: 5000, placeholder: "Two payments for one order." };
  return h("form", { class: "card", onsubmit: submit },
    field("Customer", { ...customer, placeholder: "C-0022" }, wrong.customer_id),
    field("Subject", { id: "subject", required: true, maxlength: 120, placeholder: "Charged twice" }, wrong.subject),
    field("Message", h("textarea", message), wrong.body),
    field("Came by", h("select", { id: "channel" }, options(Object.entries(CHANNELS))), wrong.channel),
    formEnd("Send ticket", desk));
}

function outcome({ accepted, took_ms, job }) {
  const { ticket_id, job_id } = accepted;
  const result = job?.state === "succeeded" ? job.result : null;
  return [
    card(`Accepted in ${duration(took_ms / 1000)}`,
      h("p", {},
        h("a", { href: link(`tickets/${ticket_id}`) }, ticket_id), " with ",
        h("a", { href: link(`jobs/${job_id}`) }, `job ${job_id}`), " ", pill(job?.state ?? accepted.state)),
      !job && h("p", { class: "quiet" }, line(accepted)),
      result && facts([["Team", tag(result.team)], ["Priority", priority(result.priority)]])),
    job && steps(job),
    job?.last_error && job.state !== "succeeded" && fault(job.last_error),
    result && card("Draft reply", copyable(result.draft_reply, "The draft reply")),
  ];
}

function line({ queued_ahead: ahead, estimated_wait_seconds: wait_s }) {
  const start = wait_s === null ? "" : wait_s < 1 ? ", starts now" : `, starts in about ${duration(wait_s)}`;
  return `${count(ahead)} ahead${start}.`;
}
