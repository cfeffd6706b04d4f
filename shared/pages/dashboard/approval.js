/** A person's decision: the preview, who decides and why, and what came of it, also when somebody was faster. */

import { post } from "./api.js";
import { keepName, theName } from "./dialog.js";
import { h } from "./dom.js";
import { field } from "./form.js";
import { card, preview } from "./parts.js";
import { act, button } from "./say.js";
import { clock } from "./words.js";

/** The card of a job that waits. */
export function approval(job, desk) {
  const draft = job.artifacts.find((file) => file.name.startsWith("preview"));
  const name = `decide ${job.job_id}`;
  const who = { id: "decided_by", value: theName(), required: true, maxlength: 200, autocomplete: "name" };
  const give = (verdict, done) => () => decide(job, verdict, done, name, desk);
  return card("This job waits for you",
    h("p", { class: "quiet" },
      `It costs nothing while it waits. Without a decision it is cancelled at ${clock(job.approval.expires_at)}.`),
    h("div", { class: "columns uneven" },
      draft && preview(draft.url, "Open the preview in its own tab"),
      h("form", { id: "approval", class: "fields", onsubmit: (event) => event.preventDefault() },
        field("Your name", who),
        field("Comment, if you like", h("textarea", { id: "comment", rows: 4, maxlength: 2000 })),
        h("div", { class: "actions" },
          button("Approve", name, give("approve", "approved and goes on"), { class: "primary" }),
          button("Reject", name, give("reject", "rejected and cancelled"), { class: "danger" })))));
}

async function decide({ job_id }, verdict, done, name, desk) {
  const form = document.getElementById("approval");
  if (!form.reportValidity()) return;
  const { decided_by, comment } = Object.fromEntries(new FormData(form));
  keepName(decided_by.trim());
  await act(name, desk.show, async () => {
    desk.show(await post(`/v1/jobs/${job_id}/${verdict}`, { decided_by, ...(comment.trim() && { comment }) }));
    return `Job ${job_id} is ${done}.`;
  });
  desk.now();
}
