/** What a person can do about a job, by its state; the server has the last word and its no is said as it is. */

import { post } from "./api.js";
import { ask } from "./dialog.js";
import { act, button } from "./say.js";
import { counted } from "./words.js";

/** The buttons; `desk.show(job)` shows what came of it, `desk.now()` looks again. */
export function actionsFor(job, desk) {
  const id = job.job_id;
  const retry = () => act(`retry ${id}`, desk.show, async () => {
    desk.show(await post(`/v1/jobs/${id}/retry`));
    return `Job ${id} is queued again, with all its attempts.`;
  }).then(desk.now);
  const ends = (title, text, label, path, wantsName, said) =>
    ask({ title, text, label, tone: "danger", wantsName, act: async ({ name }) => {
      const after = await post(path, wantsName ? { discarded_by: name } : undefined);
      desk.show(after);
      return said(after);
    } }).then(desk.now);
  const cancel = () => ends(`Cancel job ${id}?`, "What is not done yet will not be done.", "Cancel the job", `/v1/jobs/${id}/cancel`, false,
    (after) => (after.state === "cancelled" ? `Job ${id} is cancelled.` : `Job ${id} was asked to stop; it does within seconds.`));
  const discard = () => ends(`Discard job ${id}?`, `It had ${counted(job.attempts, "attempt")}. It becomes failed and leaves the dead letters.`, "Discard", `/v1/jobs/${id}/discard`, true,
    () => `Job ${id} is discarded.`);
  const isStoppable = job.state === "queued" || job.state === "waiting_for_approval" || (job.state === "running" && job.kind !== "ticket" && !job.cancel_requested);
  return [
    isStoppable && button("Cancel", `cancel ${id}`, cancel, { key: "cancel" }),
    job.state === "dead_letter" && button("Discard", `discard ${id}`, discard, { key: "discard" }),
    ["dead_letter", "failed"].includes(job.state) && button("Retry", `retry ${id}`, retry, { key: "retry", class: "primary" }),
  ];
}
