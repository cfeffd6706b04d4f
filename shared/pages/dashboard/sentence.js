/** How things are, in one sentence. Pure: numbers of GET /v1/queue in, words out. */

import { clock, count, counted, duration } from "./words.js";

const STUCK_S = 60;

/**
 * @typedef {{tone: "calm"|"busy"|"warn"|"bad", text: string}} Sentence
 * @returns {Sentence} the most pressing thing that is true, and what to do about it
 */
export function sentence(queue) {
  return trouble(queue) ?? work(queue) ?? rest(queue);
}

function trouble(queue) {
  const { provider, running, queued, ready } = queue;
  const reason = provider.reason ?? "";
  if (/provider_config/.test(reason)) {
    const what = /PROVIDER_API_KEY|\b40[13]\b/.test(reason) ? "The provider refuses our key: check PROVIDER_API_KEY" : "The provider’s set-up is wrong";
    return { tone: "bad", text: `${what}. ${waiting(queued)}` };
  }
  if (queue.outbox_pending > 0 && queue.outbox_oldest_seconds > STUCK_S) {
    const since = duration(queue.outbox_oldest_seconds);
    return { tone: "bad", text: `The outbox is stuck: ${counted(queue.outbox_pending, "message")} not sent for ${since}. Look at the relay and the storage queue.` };
  }
  const open = Object.entries(provider.breakers).filter(([, breaker]) => breaker.state !== "closed");
  if (open.length > 0) {
    const next = open.map(([, breaker]) => breaker.retry_at).filter(Boolean).sort()[0];
    return { tone: "warn", text: `The provider is in trouble${next ? `: the next try is at ${clock(next)}` : " and is being tried"}. ${waiting(queued)}` };
  }
  if (provider.paused_until) {
    return { tone: "warn", text: `Paused until ${clock(provider.paused_until)}, as the provider asked. ${waiting(queued)}` };
  }
  const mayCall = provider.calls_available === null || provider.calls_available > 0;
  if (ready > 0 && running === 0 && queue.finished_last_minute === 0 && mayCall && queue.oldest_queued_seconds > STUCK_S) {
    return { tone: "bad", text: `No worker has taken a job for ${duration(queue.oldest_queued_seconds)}: ${counted(ready, "job")} ready. Is the worker running?` };
  }
  return null;
}

function work({ queued, ready, running, ...queue }) {
  if (running === 0 && ready === 0 && queued > 0) {
    return { tone: "calm", text: `${counted(queued, "job")} will be tried again later; nothing is due now.` };
  }
  if (running === 0 && queued === 0) return null;
  const parts = [queued > 0 && `${count(queued)} queued`, running > 0 && `${count(running)} running`].filter(Boolean);
  const left_s = secondsLeft(queued + running, queue);
  const end = left_s === null ? "" : `, the last one done in about ${duration(Math.max(1, left_s))}`;
  return { tone: "busy", text: `Working: ${parts.join(", ")}${end}.` };
}

function rest({ dead_letter, waiting_for_approval }) {
  const open = [
    dead_letter > 0 && `${counted(dead_letter, "dead letter")} ${dead_letter === 1 ? "waits" : "wait"} for a decision`,
    waiting_for_approval > 0 && `${counted(waiting_for_approval, "job")} ${waiting_for_approval === 1 ? "waits" : "wait"} for approval`,
  ].filter(Boolean);
  if (open.length === 0) return { tone: "calm", text: "Nothing to do: every job is finished." };
  return { tone: dead_letter > 0 ? "warn" : "calm", text: `Nothing is queued; ${open.join(" and ")}.` };
}

const waiting = (queued) => (queued === 0 ? "No job waits." : `${counted(queued, "job")} ${queued === 1 ? "waits" : "wait"}, and none loses an attempt.`);

/** Seconds until all that is there is done: at the pace of the last minute. */
function secondsLeft(jobs, queue) {
  return queue.finished_last_minute > 0 ? (60 * jobs) / queue.finished_last_minute : null;
}

/** Where an age is heading, seen over the last half minute: rising, falling or steady. */
export function trend(samples) {
  const last = samples.at(-1);
  const before = samples.find((sample) => sample.at > (last?.at ?? 0) - 30_000);
  if (!before || before === last) return "steady";
  const change = last.value - before.value;
  if (Math.abs(change) < Math.max(2, before.value * 0.1)) return "steady";
  return change > 0 ? "rising" : "falling";
}
