/** Retrying all jobs of a filter: how many is said before, and they go out as the provider's quota allows. */

import { post } from "./api.js";
import { ask } from "./dialog.js";
import { act } from "./say.js";
import { counted } from "./words.js";

const AT_ONCE = 100;

/** Ask and do it; resolves when all is said. */
export async function retryAll({ state, kind, workspace_id, error_code }) {
  const filter = Object.fromEntries(Object.entries({ state, kind, workspace_id, error_code }).filter(([, value]) => value));
  let total = 0;
  const isCounted = await act("bulk", () => {}, async () => {
    total = (await post("/v1/dead-letters/retry", { ...filter, dry_run: true })).remaining;
    return total ? `${counted(total, "job")} to retry.` : "There is nothing left to retry.";
  });
  if (!isCounted || total === 0) return;
  const what = counted(total, state === "failed" ? "failed job" : "dead letter");
  const about = [error_code && `with ${error_code}`, kind && `of kind ${kind}`, workspace_id && `in ${workspace_id}`].filter(Boolean).join(" ");
  await ask({
    title: `Retry ${[what, about].filter(Boolean).join(" ")}?`,
    text: "Each begins again with all its attempts. They go out as the provider’s quota allows, behind what is queued already.",
    label: `Retry ${total.toLocaleString("en-US")}`,
    act: ({ tell, signal }) => retryInParts(filter, total, tell, signal),
  });
}

async function retryInParts(filter, total, tell, signal) {
  let done = 0;
  for (;;) {
    const { retried, remaining } = await post("/v1/dead-letters/retry", { ...filter, limit: AT_ONCE });
    done += retried;
    if (signal.aborted && remaining > 0) return `Stopped: ${counted(done, "job")} of ${total} queued again.`;
    if (retried === 0 || remaining === 0) return `${counted(done, "job")} queued again; they go out as the quota allows.`;
    tell(`${done} of ${total} are queued again …`);
  }
}
