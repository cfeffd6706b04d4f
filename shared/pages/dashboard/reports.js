/** Reports: start one, see how far each is, read what is done. */

import { get, withQuery } from "./api.js";
import { h } from "./dom.js";
import { pager } from "./pager.js";
import { field, head, nothing, pill, table, when } from "./parts.js";
import { go, link } from "./router.js";
import { say } from "./say.js";
import { sendOnce, whyNot } from "./send-once.js";

const EVERY_MS = 2000;
const COLUMNS = [["Report"], ["State"], ["Progress", "wide"], ["Workspace", "grow"], ["Created", "number"], ["", "act"]];

/** Show the reports and the form for a new one. */
export function reports(stage) {
  const send = sendOnce("/v1/jobs");
  const after = stage.query.get("after");
  const desk = { isBusy: false, problem: null, page: null };
  const show = () => stage.show(view(desk, submit, after));
  const submit = async (event) => {
    event.preventDefault();
    if (desk.isBusy) return;
    Object.assign(desk, { isBusy: true, problem: null });
    show();
    try {
      const accepted = await send(asked(new FormData(event.target)));
      say(`Report ${accepted.job_id} is accepted.`);
      go(`jobs/${accepted.job_id}`);
      return;
    } catch (error) {
      Object.assign(desk, { isBusy: false, problem: error });
    }
    show();
    document.querySelector("#new-report [aria-invalid]")?.focus();
  };
  stage.live(async (signal) => {
    desk.page = await get(withQuery("/v1/jobs", { kind: "support_report", limit: 20, after }), { signal });
    show();
    return EVERY_MS;
  }, link("reports"));
}

function asked(form) {
  const period = Object.fromEntries(["from", "to"].map((name) => [name, form.get(name)]).filter(([, day]) => day));
  const { task, workspace_id } = Object.fromEntries(form);
  return { task: task.trim(), workspace_id: workspace_id.trim(), input: period, require_approval: form.has("require_approval") };
}

const view = (desk, submit, after) => [
  head("Reports", null, "A workspace’s tickets of a period, summarised and drawn."),
  h("div", { class: "columns narrow-first" }, form(desk, submit), h("div", { class: "stack" }, list(desk.page), pager("reports", {}, after, desk.page.next))),
];

function form({ isBusy, problem }, submit) {
  const wrong = problem?.fields ?? {};
  return h("form", { id: "new-report", class: "card", onsubmit: submit },
    h("h2", {}, "New report"),
    field("What for", h("input", { id: "task", name: "task", required: true, maxlength: 500, value: "Weekly support report", autocomplete: "off" }), { problem: wrong.task }),
    field("Workspace", h("input", { id: "workspace_id", name: "workspace_id", required: true, pattern: "[a-z0-9_\\-]{1,64}", title: "Small letters, digits, - and _", placeholder: "team_42", autocomplete: "off" }), { problem: wrong.workspace_id }),
    h("div", { class: "pair", key: "period" },
      field("From", h("input", { id: "from", name: "from", type: "date" }), { problem: wrong["input.from"] }),
      field("To", h("input", { id: "to", name: "to", type: "date" }), { problem: wrong["input.to"] })),
    h("p", { class: "quiet small", key: "hint" }, "Without a period: the last seven days."),
    h("label", { class: "check", key: "check" }, h("input", { type: "checkbox", name: "require_approval", checked: true }), "Ask a person before it is published"),
    problem && h("p", { class: "bad", role: "alert", key: "problem" }, whyNot(problem)),
    h("div", { class: "actions end", key: "actions" }, h("button", { class: "primary", type: "submit", "aria-disabled": isBusy ? "true" : null }, "Start report")));
}

function list({ items }) {
  if (items.length === 0) return nothing("No reports yet", "Start the first one with the form.");
  return h("div", { class: "card list" }, table("Reports, newest first", COLUMNS, items.map((job) => ({
    key: job.job_id,
    cells: [
      h("a", { class: "row-link", href: link(`jobs/${job.job_id}`) }, `Report ${job.job_id}`),
      pill(job.state),
      h("div", { class: "meter", role: "img", "aria-label": `${job.progress} percent` }, h("div", { style: { width: `${job.progress}%` } })),
      job.workspace_id,
      when(job.created_at),
      job.result?.artifact_url ? h("a", { class: "button small", href: job.result.artifact_url, target: "_blank", rel: "noopener", "aria-label": `Read report ${job.job_id}` }, "Read") : "",
    ],
  }))));
}
