/** A job's way: its steps with the time each took, and its runs. */

import { now } from "./clock.js";
import { h } from "./dom.js";
import { card } from "./parts.js";
import { OUTCOMES, STATES, clock, duration, word } from "./words.js";

const MARKS = { pending: "○", running: "◐", succeeded: "✓", failed: "✕" };

/** The steps as lines on one scale of time. */
export function steps(job) {
  if (job.steps.length === 0) return null;
  const begun = job.steps.filter((step) => step.started_at);
  const from = Math.min(...begun.map((step) => Date.parse(step.started_at)));
  const endOf = (step) => Date.parse(step.finished_at ?? job.finished_at) || now();
  const to = Math.max(...begun.map(endOf), from + 1);
  const share = (at) => `${Math.max(0, Math.min(100, (100 * (at - from)) / (to - from)))}%`;
  return card("Steps",
    h("ol", { class: "steps" }, job.steps.map((step) => {
      const start = Date.parse(step.started_at);
      return h("li", { key: step.name, class: `step ${step.state}` },
        h("span", { class: "mark", role: "img", "aria-label": word(step.state) }, MARKS[step.state] ?? "○"),
        h("span", { class: "step-name" }, word(step.detail ?? step.name)),
        h("span", { class: "track", "aria-hidden": "true" },
          step.started_at && step.state !== "pending" &&
            h("span", { style: { left: share(start), right: `calc(100% - ${share(endOf(step))})` } })),
        h("span", { class: "step-time quiet small" }, step.state === "running" ? "…" : took(step)));
    })));
}

const took = ({ started_at, finished_at }) =>
  started_at && finished_at ? duration((Date.parse(finished_at) - Date.parse(started_at)) / 1000) : "";

/** The runs, oldest first; each is one claim by a worker. */
export function history(job) {
  if (job.history.length === 0) return null;
  return card("Runs", h("ol", { class: "runs" }, job.history.map(run)));
}

function run({ run: number, attempt, started_at, ended_at, outcome, error }) {
  const lasted = took({ started_at, finished_at: ended_at });
  return h("li", { key: number },
    h("strong", {}, OUTCOMES[outcome] ?? STATES[outcome] ?? "At work"),
    h("span", { class: "quiet" }, ` attempt ${attempt}, ${clock(started_at)}${lasted && `, took ${lasted}`}`),
    error && h("span", { class: "quiet small under" }, error.message));
}
