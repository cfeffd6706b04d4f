/** How things are, in one sentence. Pure: numbers of GET /v1/queue in, words out. */

import { clock, count, counted, duration } from "./words.js";

const STUCK_S = 60;
const TREND_MS = 10_500;

/**
 * @typedef {{tone: "calm"|"busy"|"warn"|"bad", text: string}} Sentence
 * @returns {Sentence} the most pressing thing that is true, and what to do about it
 */
export const sentence = (queue) =>
  setUp(queue) ?? outbox(queue) ?? breakers(queue) ?? pause(queue) ?? worker(queue) ?? work(queue) ?? rest(queue);

function setUp({ provider, queued }) {
  const reason = provider.reason ?? "";
  if (!reason.includes("provider_config")) return null;
  const isKey = /PROVIDER_API_KEY|\b40[13]\b/.test(reason);
  const what = isKey ? "The provider refuses our key: check PROVIDER_API_KEY" : "The provider’s set-up is wrong";
  return { tone: "bad", text: `${what}. ${patience(queued)}` };
}

/** While work gets done the relay is alive: what the quota held back for long is old when its turn comes. */
function outbox({ outbox_pending, outbox_oldest_seconds, ...queue }) {
  if (outbox_pending === 0 || outbox_oldest_seconds <= STUCK_S || !isIdle(queue)) return null;
  const what = `${counted(outbox_pending, "message")} not sent for ${duration(outbox_oldest_seconds)}`;
  return { tone: "bad", text: `The outbox is stuck: ${what}. Look at the relay and the storage queue.` };
}

function breakers({ provider, queued }) {
  const open = Object.values(provider.breakers).filter(({ state }) => state !== "closed");
  if (open.length === 0) return null;
  const [next] = open.map(({ retry_at }) => retry_at).filter(Boolean).sort();
  const then = next ? `: the next try is at ${clock(next)}` : " and is being tried";
  return { tone: "warn", text: `The provider is in trouble${then}. ${patience(queued)}` };
}

function pause({ provider, queued }) {
  if (!provider.paused_until) return null;
  const until = clock(provider.paused_until);
  return { tone: "warn", text: `Paused until ${until}, as the provider asked. ${patience(queued)}` };
}

function worker({ provider, ready, oldest_queued_seconds, ...queue }) {
  const mayCall = provider.calls_available === null || provider.calls_available > 0;
  if (!mayCall || !isIdle(queue) || ready === 0 || oldest_queued_seconds <= STUCK_S) return null;
  const what = `No worker has taken a job for ${duration(oldest_queued_seconds)}`;
  return { tone: "bad", text: `${what}: ${counted(ready, "job")} ready. Is the worker running?` };
}

function work({ queued, ready, running, finished_last_minute }) {
  if (running === 0 && queued === 0) return null;
  if (running === 0 && ready === 0) {
    return { tone: "calm", text: `${counted(queued, "job")} will be tried again later; nothing is due now.` };
  }
  const parts = [queued > 0 && `${count(queued)} queued`, running > 0 && `${count(running)} running`];
  const left_s = finished_last_minute > 0 ? (60 * (queued + running)) / finished_last_minute : null;
  const end = left_s === null ? "" : `, the last one done in about ${duration(Math.max(1, left_s))}`;
  return { tone: "busy", text: `Working: ${parts.filter(Boolean).join(", ")}${end}.` };
}

function rest({ dead_letter, waiting_for_approval }) {
  const open = [
    dead_letter > 0 && `${waits(dead_letter, "dead letter")} for a decision`,
    waiting_for_approval > 0 && `${waits(waiting_for_approval, "job")} for approval`,
  ].filter(Boolean);
  if (open.length === 0) return { tone: "calm", text: "Nothing to do: every job is finished." };
  return { tone: dead_letter > 0 ? "warn" : "calm", text: `Nothing is queued; ${open.join(" and ")}.` };
}

const isIdle = ({ running, finished_last_minute }) => running === 0 && finished_last_minute === 0;

const waits = (number, noun) => `${counted(number, noun)} ${number === 1 ? "waits" : "wait"}`;

const patience = (queued) => (queued === 0 ? "No job waits." : `${waits(queued, "job")}, and none loses an attempt.`);

/** Where an age is heading, seen over the last ten seconds: rising, falling or steady. */
export function trend(samples) {
  const last = samples.at(-1);
  const before = samples.find(({ at }) => at > (last?.at ?? 0) - TREND_MS);
  if (!before || before === last) return "steady";
  const change = last.value - before.value;
  if (Math.abs(change) < Math.max(2, before.value * 0.1)) return "steady";
  return change > 0 ? "rising" : "falling";
}
