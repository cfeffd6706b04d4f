/** The list of jobs: filters, pages, and a retry beside what can be retried. */

import { get, post, withQuery } from "./api.js";
import { retryAll } from "./bulk.js";
import { h } from "./dom.js";
import { asked, chips, filters, isFiltered, pick, search } from "./filters.js";
import { pager } from "./pager.js";
import { head, linkButton, nothing, pill, table, when } from "./parts.js";
import { link } from "./router.js";
import { act, button } from "./say.js";
import { ERRORS, KINDS, STATES, word } from "./words.js";

const EVERY_MS = 2000;
const PATH = "jobs";
const COLUMNS = [
  ["Job"], ["State"], ["About"], ["Error", "wide"], ["Attempts", "number wide"], ["Created", "number"], ["", "act"],
];

/** Show a page of jobs. */
export function jobs(stage) {
  const filter = asked(stage.query, ["state", "kind", "workspace_id", "error_code"]);
  const after = stage.query.get("after");
  let page = null;
  const show = () => stage.show(view(filter, page, { after, show, now }));
  const now = stage.live(async (signal) => {
    page = await get(withQuery("/v1/jobs", { ...filter, limit: 50, after }), { signal });
    show();
    return EVERY_MS;
  }, link(PATH));
}

const view = (filter, page, desk) => [
  head("Jobs", bulk(filter, page, desk)),
  filters(PATH, filter,
    chips(PATH, filter, "state", "State", "All", Object.entries(STATES)),
    pick(PATH, filter, "kind", "Kind", "Every kind", Object.entries(KINDS)),
    pick(PATH, filter, "error_code", "Error code", "Every error", codes(filter.error_code).map((code) => [code, code])),
    search(PATH, filter, "workspace_id", "Workspace")),
  page.items.length
    ? h("div", { class: "card list" }, table("Jobs, newest first", COLUMNS, page.items.map((job) => row(job, desk))))
    : empty(filter),
  pager(PATH, filter, desk.after, page.next),
];

const codes = (further) => [...new Set([...Object.keys(ERRORS), further])].filter(Boolean);

const canBeRetried = (state) => state === "dead_letter" || state === "failed";

const bulk = (filter, page, desk) =>
  canBeRetried(filter.state) && page.items.length > 0 &&
  button("Retry all of these…", "bulk", () => retryAll(filter).then(desk.now));

function row(job, desk) {
  const id = job.job_id;
  const name = `retry ${id}`;
  const send = () => post(`/v1/jobs/${id}/retry`).then(() => `Job ${id} is queued again.`);
  const retry = () => act(name, desk.show, send).then(desk.now);
  const ticket = () => h("a", { href: link(`tickets/${job.ticket_id}`) }, job.ticket_id);
  return {
    key: id,
    cells: [
      h("a", { class: "row-link", href: link(`jobs/${id}`) }, `Job ${id}`),
      [pill(job.state), job.state === "running" && h("span", { class: "quiet small" }, ` ${job.progress} %`)],
      [
        job.ticket_id ? ticket() : KINDS[job.kind] ?? word(job.kind),
        h("span", { class: "quiet wide-inline" }, ` ${job.workspace_id}`),
      ],
      job.last_error ? h("span", { class: "error-code", title: job.last_error.message }, job.last_error.code) : "",
      `${job.attempts} of ${job.max_attempts}`,
      when(job.created_at),
      canBeRetried(job.state) && button("Retry", name, retry, { class: "small", "aria-label": `Retry job ${id}` }),
    ],
  };
}

function empty(filter) {
  const to = (path, text) => linkButton(link(path), text);
  return isFiltered(filter)
    ? nothing("No job fits", "Nothing has this state, kind, workspace and error together.", to(PATH, "Show all jobs"))
    : nothing("No jobs yet", "A ticket or a report brings the first one.", to("tickets/new", "New ticket"));
}
