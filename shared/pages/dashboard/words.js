/** The API's words and numbers as people say them. */

import { now, secondsSince } from "./clock.js";

export const STATES = {
  queued: "Queued",
  running: "Running",
  waiting_for_approval: "Waiting for approval",
  succeeded: "Succeeded",
  failed: "Failed",
  dead_letter: "Dead letter",
  cancelled: "Cancelled",
};
export const FINISHED = new Set(["succeeded", "failed", "cancelled", "dead_letter"]);
export const TEAMS = ["billing", "login", "shipping", "account", "other"];
export const PRIORITIES = { 1: "Urgent", 2: "Normal", 3: "Low" };
export const CHANNELS = { web_form: "Web form", email: "E-mail", chat: "Chat", phone: "Phone" };
export const KINDS = { ticket: "Ticket", support_report: "Report", webhook: "Webhook" };

/** Why a run ended without an end of the job. */
export const OUTCOMES = {
  retry: "To be tried again",
  quota: "Given back: the quota was used up",
  breaker: "Given back: the provider was in trouble",
  slice: "Given back after its time slice",
  shutdown: "Given back: the app was stopping",
  lost: "Lost: the worker went away",
};

/** Job error codes as a person would say them. */
export const ERRORS = {
  bad_input: "The job’s input can’t be used",
  provider_unavailable: "The AI provider was in trouble",
  provider_timeout: "The AI provider took too long",
  provider_refused: "The AI provider refused the request",
  provider_config: "The AI provider’s set-up is wrong",
  content_filter: "The content filter blocked the request",
  bad_answer: "The AI provider’s answer made no sense",
  answer_truncated: "The AI provider’s answer was cut off",
  worker_lost: "The worker went away while it ran",
  internal_error: "A fault of this app",
  job_timeout: "The job ran out of time",
  approval_expired: "Nobody decided in time",
  rejected: "A person rejected it",
  artifact_too_large: "A file became too large",
  undeliverable: "Its message could not be sent",
};

/** A number with its thousands set apart. */
export const count = (number) => number.toLocaleString("en-US");

/** "1 job", "1,204 jobs". */
export const counted = (number, noun, plural = `${noun}s`) => `${count(number)} ${number === 1 ? noun : plural}`;

/** A name of the API as a word: support_report → Support report. */
export const word = (name) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll(/[_-]/g, " ");

/** Seconds as a person says them. */
export function duration(seconds) {
  if (seconds < 0.95) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1).replace(/\.0$/, "")} s`;
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  if (seconds < 3570) return `${Math.round(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
  return counted(Math.round(seconds / 86_400), "day");
}

/** The same in whole seconds, for a number that moves. */
export const age = (seconds) => (seconds < 59.5 ? `${Math.floor(seconds)} s` : duration(seconds));

/** How long ago, or the day. */
export function ago(time) {
  const seconds = secondsSince(time);
  if (seconds < 1.5) return "just now";
  if (seconds < 7 * 86_400) return `${age(seconds)} ago`;
  return new Date(time).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
}

/** The time of day, with the day if it is another one. */
export function clock(time) {
  const at = new Date(time);
  const hours = at.toLocaleTimeString("en-GB");
  const day = at.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return at.toDateString() === new Date(now()).toDateString() ? hours : `${day}, ${hours}`;
}
