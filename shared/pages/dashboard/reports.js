/** Reports: start one, see how far each is, read what is done. */

import { get, withQuery } from "./api.js";
import { h } from "./dom.js";
import { field, formEnd, submitting } from "./form.js";
import { pager } from "./pager.js";
import { fileLink, head, meter, nothing, pill, table, when } from "./parts.js";
import { go, link } from "./router.js";
import { say } from "./say.js";
import { sendOnce } from "./send-once.js";

const EVERY_MS = 2000;
const COLUMNS = [
  ["Report"], ["State"], ["Progress", "wide"], ["Workspace", "grow"], ["Created", "number"], ["", "act"],
];

/** Show the reports and the form for a new one. */
export function reports(stage) {
  const post = sendOnce("/v1/jobs");
  const after = stage.query.get("after");
  const desk = { isBusy: false, problem: null, page: null };
  const show = () => stage.show(view(desk, submit, after));
  const submit = submitting(desk, show, (data) => post(order(data)), ({ job_id }) => {
    say(`Report ${job_id} is accepted.`);
    go(`jobs/${job_id}`);
  });
  stage.live(async (signal) => {
    desk.page = await get(withQuery("/v1/jobs", { kind: "support_report", limit: 20, after }), { signal });
    show();
    return EVERY_MS;
  }, link("reports"));
}

function order(data) {
  const { task, workspace_id, from, to, require_approval } = Object.fromEntries(data);
  return {
    task: task.trim(),
    workspace_id: workspace_id.trim(),
    input: { ...(from && { from }), ...(to && { to }) },
    require_approval: require_approval === "on",
  };
}

const view = (desk, submit, after) => [
  head("Reports", null, "A workspace’s tickets of a period, summarised and drawn."),
  h("div", { class: "columns narrow-first" },
    form(desk, submit),
    h("div", { class: "stack" }, list(desk.page.items), pager("reports", {}, after, desk.page.next))),
];

function form(desk, submit) {
  const wrong = desk.problem?.fields ?? {};
  const format = { pattern: "[a-z0-9_\\-]{1,64}", title: "Small letters, digits, - and _" };
  return h("form", { class: "card", onsubmit: submit },
    h("h2", {}, "New report"),
    field("What for", { id: "task", required: true, maxlength: 500, value: "Weekly support report" }, wrong.task),
    field("Workspace", { id: "workspace_id", required: true, ...format, placeholder: "team_42" }, wrong.workspace_id),
    h("div", { class: "pair", key: "period" },
      field("From", { id: "from", type: "date" }, wrong["input.from"]),
      field("To", { id: "to", type: "date" }, wrong["input.to"])),
    h("p", { class: "quiet small" }, "Without a period: the last seven days."),
    h("label", { class: "check" },
      h("input", { type: "checkbox", name: "require_approval", checked: true }), "Ask a person before it is published"),
    formEnd("Start report", desk));
}

const list = (items) =>
  items.length
    ? h("div", { class: "card list" }, table("Reports, newest first", COLUMNS, items.map(row)))
    : nothing("No reports yet", "Start the first one with the form.");

function row({ job_id, state, progress, workspace_id, created_at, result }) {
  const read = { class: "button small", "aria-label": `Read report ${job_id}` };
  return {
    key: job_id,
    cells: [
      h("a", { class: "row-link", href: link(`jobs/${job_id}`) }, `Report ${job_id}`),
      pill(state),
      meter(progress / 100, `${progress} percent`),
      workspace_id,
      when(created_at),
      result?.artifact_url && fileLink(result.artifact_url, "Read", read),
    ],
  };
}
