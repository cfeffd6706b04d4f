/** Retrying all jobs of a filter: how many is said before, and they go out as the provider's quota allows. */

import { post } from "./api.js";
import { ask } from "./dialog.js";
import { act } from "./say.js";
import { count, counted } from "./words.js";

const AT_ONCE = 100;
const PATH = "/v1/dead-letters/retry";

/** Ask and do it; resolves when all is said. */
export async function retryAll(asked) {
  const filter = Object.fromEntries(Object.entries(asked).filter(([, value]) => value));
  let total = 0;
  const isCounted = await act("bulk", () => {}, async () => {
    total = (await post(PATH, { ...filter, dry_run: true })).remaining;
    return total === 0 && "There is nothing to retry any more.";
  });
  if (!isCounted || total === 0) return;
  await ask({
    title: `Retry ${about(filter, total)}?`,
    text: "Each begins again with all its attempts. They go out as the provider’s quota allows, behind what is queued.",
    label: `Retry ${count(total)}`,
    act: ({ tell, signal }) => retryInParts(filter, total, tell, signal),
  });
}

function about({ state, kind, workspace_id, error_code }, total) {
  const what = counted(total, state === "failed" ? "failed job" : "dead letter");
  const which = [error_code && `with ${error_code}`, kind && `of kind ${kind}`, workspace_id && `in ${workspace_id}`];
  return [what, ...which.filter(Boolean)].join(" ");
}

async function retryInParts(filter, total, tell, signal) {
  for (let done = 0; ; ) {
    const { retried } = await post(PATH, { ...filter, limit: Math.min(AT_ONCE, total - done) });
    done += retried;
    if (retried === 0 || done >= total) return `${counted(done, "job")} queued again, to go out as the quota allows.`;
    if (signal.aborted) return `Stopped: ${count(done)} of ${count(total)} queued again.`;
    tell(`${count(done)} of ${count(total)} are queued again …`);
  }
}
