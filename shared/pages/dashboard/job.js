/** One job: how it stands, its way, what it made, and what a person can do about it. */

import { getChanged } from "./api.js";
import { approval } from "./approval.js";
import { actionsFor } from "./decide.js";
import { h } from "./dom.js";
import { theKey } from "./key.js";
import { card, copyable, crumbs, facts, fault, fileLink, head, pill, preview, when } from "./parts.js";
import { link } from "./router.js";
import { history, steps } from "./way.js";
import { FINISHED, KINDS, clock, count, counted, word } from "./words.js";

const FINISHED_EVERY_MS = 10_000;

/** Show a job and follow it until it is finished. */
export function job(stage) {
  let known = null;
  const show = (newer) => {
    known = newer ?? known;
    stage.show(view(known, { show, now }));
  };
  const now = stage.live(async (signal, mayHold) => {
    show(await getChanged(stage.args[0], mayHold && known, { signal }));
    return FINISHED.has(known.state) ? FINISHED_EVERY_MS : 0;
  }, link("jobs"));
}

const view = (job, desk) => [
  crumbs("jobs", "Jobs", job.job_id),
  head([`Job ${job.job_id} `, pill(job.state)], actionsFor(job, desk), subtitle(job)),
  job.state === "running" && progress(job.progress),
  job.state === "waiting_for_approval" && approval(job, desk),
  job.last_error && job.state !== "succeeded" && fault(job.last_error),
  h("div", { class: "columns uneven" },
    h("div", { class: "stack" }, job.result && result(job), steps(job), history(job)),
    h("div", { class: "stack" }, about(job), job.artifacts.length > 0 && files(job), curl(job))),
];

const subtitle = (job) => [
  `${KINDS[job.kind] ?? word(job.kind)} work asked for by ${job.actor.replace(":", " ")}, `, when(job.created_at),
  job.cancel_requested && job.state === "running" ? ". It was asked to stop." : "",
];

const progress = (percent) =>
  h("div", {
    class: "progress", role: "progressbar", "aria-label": "Progress",
    "aria-valuenow": percent, "aria-valuemin": 0, "aria-valuemax": 100,
  }, h("div", { style: { width: `${Math.max(2, percent)}%` } }));

function result({ result: made, kind }) {
  const { draft_reply, summary, artifact_url, ...others } = made;
  const plain = (value) => (typeof value === "object" ? JSON.stringify(value) : String(value));
  return card(kind === "support_report" ? "Report" : "Result",
    summary && h("p", { class: "prose" }, summary),
    artifact_url && preview(artifact_url, "Open the report in its own tab"),
    facts(Object.entries(others).map(([name, value]) => [word(name), plain(value)])),
    draft_reply && [h("h3", {}, "Draft reply"), copyable(draft_reply, "The draft reply")]);
}

const about = (job) =>
  card("About", facts([
    job.ticket_id && ["Ticket", h("a", { href: link(`tickets/${job.ticket_id}`) }, job.ticket_id)],
    ["Workspace", h("a", { href: link("jobs", { workspace_id: job.workspace_id }) }, job.workspace_id)],
    ["Attempts", `${job.attempts} of ${job.max_attempts}`],
    ["Created", clock(job.created_at)],
    job.started_at && ["Started", clock(job.started_at)],
    job.finished_at && ["Finished", clock(job.finished_at)],
    job.state === "queued" && job.run_after > job.created_at && ["Not before", clock(job.run_after)],
    job.approval && job.approval.state !== "waiting" && ["Approval", decided(job.approval)],
    job.discarded_by && ["Discarded", `by ${job.discarded_by}, ${clock(job.discarded_at)}`],
    job.webhook && ["Webhook", hook(job.webhook)],
  ]));

const decided = ({ state, decided_by, decided_at, comment }) =>
  [word(state), decided_by && ` by ${decided_by}`, decided_at && `, ${clock(decided_at)}`, comment && `: “${comment}”`]
    .filter(Boolean).join("");

const hook = ({ state, attempts, last_status }) =>
  `${word(state)} after ${counted(attempts, "attempt")}${last_status ? `, last answer ${last_status}` : ""}`;

const files = (job) =>
  card("Files", h("ul", { class: "plain" }, job.artifacts.map((file) =>
    h("li", { key: file.name },
      fileLink(file.url, file.name),
      h("span", { class: "quiet small" }, ` ${count(Math.ceil(file.size / 1024))} KB`)))));

function curl(job) {
  const key = theKey() ? ' -H "x-functions-key: $KEY"' : "";
  return h("details", { class: "card", key: "curl" },
    h("summary", {}, "From a terminal"),
    copyable(`curl${key} ${location.origin}/v1/jobs/${job.job_id}`, "The command"));
}
