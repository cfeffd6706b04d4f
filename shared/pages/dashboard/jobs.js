/** The list of jobs: filters that stand in the address, pages, and a retry beside what can be retried. */

import { get, post, withQuery } from "./api.js";
import { retryAll } from "./bulk.js";
import { h } from "./dom.js";
import { head, nothing, options, pill, table, when } from "./parts.js";
import { go, link } from "./router.js";
import { act, button } from "./say.js";
import { pager } from "./pager.js";
import { ERRORS, KINDS, STATES, word } from "./words.js";

const EVERY_MS = 2000;
const NAMES = ["state", "kind", "workspace_id", "error_code"];
const COLUMNS = [["Job"], ["State"], ["About"], ["Error", "wide"], ["Attempts", "number wide"], ["Created", "number"], ["", "act"]];

/** Show a page of jobs. */
export function jobs(stage) {
  const asked = Object.fromEntries(NAMES.map((name) => [name, stage.query.get(name) ?? ""]));
  const after = stage.query.get("after");
  let page = null;
  const show = () => stage.show(view(asked, page, { after, show, now }));
  const now = stage.live(async (signal) => {
    page = await get(withQuery("/v1/jobs", { ...asked, limit: 50, after }), { signal });
    show();
    return EVERY_MS;
  }, link("jobs"));
}

const view = (asked, page, desk) => [
  head("Jobs", bulk(asked, page, desk)),
  filters(asked),
  page.items.length
    ? h("div", { class: "card list" }, table("Jobs, newest first", COLUMNS, page.items.map((job) => row(job, desk))))
    : empty(asked),
  pager("jobs", asked, desk.after, page.next),
];

function bulk(asked, page, desk) {
  if (!["dead_letter", "failed"].includes(asked.state) || page.items.length === 0) return null;
  return button("Retry all of these…", "bulk", () => retryAll(asked).then(desk.now));
}

function filters(asked) {
  const change = (name) => (event) => go("jobs", { ...asked, [name]: event.target.value.trim() });
  const chip = (state, text) =>
    h("a", { key: state, class: "chip", href: link("jobs", { ...asked, state }), "aria-current": asked.state === state ? "true" : null }, text);
  const codes = new Set([...Object.keys(ERRORS), asked.error_code].filter(Boolean));
  return h("div", { class: "filters" },
    h("nav", { class: "chips", "aria-label": "State" }, chip("", "All"), Object.entries(STATES).map(([state, text]) => chip(state, text))),
    h("form", { class: "filter-row", onsubmit: (event) => event.preventDefault(), "aria-label": "More filters" },
      h("label", {}, h("span", { class: "unseen" }, "Kind"),
        h("select", { id: "filter-kind", value: asked.kind, onchange: change("kind") },
          options("Every kind", Object.entries(KINDS)))),
      h("label", {}, h("span", { class: "unseen" }, "Error code"),
        h("select", { id: "filter-error", value: asked.error_code, onchange: change("error_code") },
          options("Every error", [...codes].map((code) => [code, code])))),
      h("label", {}, h("span", { class: "unseen" }, "Workspace"),
        h("input", { id: "filter-workspace", type: "search", placeholder: "Workspace", value: asked.workspace_id,
          spellcheck: "false", onchange: change("workspace_id") })),
      NAMES.some((name) => asked[name]) && h("a", { href: link("jobs") }, "Clear")));
}

function row(job, desk) {
  const name = `retry ${job.job_id}`;
  const retry = () => act(name, desk.show, () => post(`/v1/jobs/${job.job_id}/retry`).then(() => `Job ${job.job_id} is queued again.`)).then(desk.now);
  return {
    key: job.job_id,
    cells: [
      h("a", { class: "row-link", href: link(`jobs/${job.job_id}`) }, `Job ${job.job_id}`),
      [pill(job.state), job.state === "running" && job.progress > 0 ? h("span", { class: "quiet small" }, ` ${job.progress} %`) : null],
      [
        job.ticket_id ? h("a", { href: link(`tickets/${job.ticket_id}`) }, job.ticket_id) : KINDS[job.kind] ?? word(job.kind),
        h("span", { class: "quiet wide-inline" }, ` ${job.workspace_id}`),
      ],
      job.last_error ? h("span", { class: "error-code", title: job.last_error.message }, job.last_error.code) : "",
      `${job.attempts} of ${job.max_attempts}`,
      when(job.created_at),
      ["dead_letter", "failed"].includes(job.state) ? button("Retry", name, retry, { class: "small", "aria-label": `Retry job ${job.job_id}` }) : "",
    ],
  };
}

function empty(asked) {
  const isFiltered = NAMES.some((name) => asked[name]);
  return isFiltered
    ? nothing("No job fits", "Nothing has this state, kind, workspace and error together.", h("a", { class: "button", href: link("jobs") }, "Show all jobs"))
    : nothing("No jobs yet", "A ticket or a report brings the first one.", h("a", { class: "button", href: link("tickets/new") }, "New ticket"));
}
