/** What a person can do about a job, by its state; the server has the last word and its no is said as it is. */

import { post } from "./api.js";
import { ask } from "./dialog.js";
import { act, button } from "./say.js";
import { counted } from "./words.js";

/** The buttons; `desk.show(job)` shows what came of it, `desk.now()` looks again. */
export const actionsFor = (job, desk) => [
  canStop(job) && button("Cancel", `cancel ${job.job_id}`, () => cancel(job, desk), { key: "cancel" }),
  job.state === "dead_letter" &&
    button("Discard", `discard ${job.job_id}`, () => discard(job, desk), { key: "discard" }),
  (job.state === "dead_letter" || job.state === "failed") &&
    button("Retry", `retry ${job.job_id}`, () => retry(job, desk), { key: "retry", class: "primary" }),
];

function canStop({ state, kind, cancel_requested }) {
  if (state === "running") return kind !== "ticket" && !cancel_requested;
  return state === "queued" || state === "waiting_for_approval";
}

async function retry({ job_id }, desk) {
  await act(`retry ${job_id}`, desk.show, async () => {
    desk.show(await post(`/v1/jobs/${job_id}/retry`));
    return `Job ${job_id} is queued again, with all its attempts.`;
  });
  desk.now();
}

async function cancel({ job_id }, desk) {
  await ask({
    title: `Cancel job ${job_id}?`,
    text: "What is not done yet will not be done.",
    label: "Cancel the job",
    tone: "danger",
    act: async () => {
      const job = await post(`/v1/jobs/${job_id}/cancel`);
      desk.show(job);
      if (job.state === "cancelled") return `Job ${job_id} is cancelled.`;
      return `Job ${job_id} was asked to stop; it does within seconds.`;
    },
  });
  desk.now();
}

async function discard({ job_id, attempts }, desk) {
  await ask({
    title: `Discard job ${job_id}?`,
    text: `It had ${counted(attempts, "attempt")}. It becomes failed and leaves the dead letters.`,
    label: "Discard",
    tone: "danger",
    wantsName: true,
    act: async ({ name }) => {
      desk.show(await post(`/v1/jobs/${job_id}/discard`, { discarded_by: name }));
      return `Job ${job_id} is discarded.`;
    },
  });
  desk.now();
}
