/** A person's decision: the preview, who decides and why, and what came of it, also when somebody was faster. */

import { post } from "./api.js";
import { keepName, theName } from "./dialog.js";
import { h } from "./dom.js";
import { field } from "./parts.js";
import { act, button } from "./say.js";
import { clock } from "./words.js";

/** The card of a job that waits. */
export function approval(job, desk) {
  const preview = job.artifacts.find((file) => file.name.startsWith("preview"));
  const name = `decide ${job.job_id}`;
  const decide = (verdict, done) => {
    const form = document.getElementById("approval-form");
    if (!form.reportValidity()) return;
    const decided_by = form.elements["approval-name"].value.trim();
    const comment = form.elements["approval-comment"].value.trim();
    keepName(decided_by);
    act(name, desk.show, async () => {
      desk.show(await post(`/v1/jobs/${job.job_id}/${verdict}`, comment ? { decided_by, comment } : { decided_by }));
      return `Job ${job.job_id} is ${done}.`;
    }).then(desk.now);
  };
  return h("section", { class: "card approval", key: "approval", "aria-labelledby": "approval-title" },
    h("h2", { id: "approval-title" }, "This job waits for you"),
    h("p", { class: "quiet" }, `It costs nothing while it waits. Without a decision it is cancelled at ${clock(job.approval.expires_at)}.`),
    preview && h("div", { class: "preview" },
      h("iframe", { src: preview.url, sandbox: "", title: "Preview", loading: "lazy" }),
      h("a", { href: preview.url, target: "_blank", rel: "noopener" }, "Open the preview in its own tab")),
    h("form", { id: "approval-form", onsubmit: (event) => event.preventDefault() },
      field("Your name", h("input", { id: "approval-name", value: theName(), required: true, maxlength: 200, autocomplete: "name" })),
      field("Comment, if you like", h("textarea", { id: "approval-comment", rows: 2, maxlength: 2000 })),
      h("div", { class: "actions" },
        button("Approve", name, () => decide("approve", "approved and goes on"), { class: "primary" }),
        button("Reject", name, () => decide("reject", "rejected and cancelled"), { class: "danger" }))));
}
