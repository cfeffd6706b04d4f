/** Calls of the API. Every answer that is no success is raised, in words for people. */

import { noteDate } from "./clock.js";
import { askForKey, theKey } from "./key.js";
import { FINISHED } from "./words.js";

const PATIENCE_MS = 12_000;
const HELD_S = 20;

/** The server said no; the message is its own. `fields` maps a field's name to what is wrong with it. */
export class Refusal extends Error {
  constructor(status, problem, retryAfterS) {
    super(problem?.message ?? `The server answered ${status} without saying why.`);
    this.status = status;
    this.code = problem?.code ?? "";
    this.fields = Object.fromEntries((problem?.fields ?? []).map(({ field, problem: what }) => [field, what]));
    this.retryAfterS = retryAfterS;
  }

  /** Whether the same call may succeed later. */
  get isPassing() {
    return this.status >= 500 || this.status === 429;
  }
}

/** There was no answer: nobody knows whether the call arrived. */
export class Unreachable extends Error {
  constructor() {
    super("The server can’t be reached.");
  }

  get isPassing() {
    return true;
  }
}

/** GET. */
export const get = (path, { signal } = {}) => call("GET", path, { signal });

/** GET a job once it is no longer as it was `seen`, or after 20 s; at once without that, or when it was finished. */
export function getChanged(job_id, seen, { signal }) {
  const path = `/v1/jobs/${encodeURIComponent(job_id)}`;
  if (!seen || FINISHED.has(seen.state)) return get(path, { signal });
  const headers = { Prefer: `wait=${HELD_S}; state=${seen.state}; progress=${seen.progress}` };
  return call("GET", path, { signal, headers, patience_ms: PATIENCE_MS + 1000 * HELD_S });
}

/** POST a value as JSON. */
export const post = (path, body, headers = {}) =>
  call("POST", path, {
    headers: body === undefined ? headers : { "Content-Type": "application/json", ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });

/** The address of a list with those of the parameters that have a value. */
export function withQuery(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

/** An error as a sentence; what the server said of single fields comes along. */
export function inWords(error) {
  const fields = Object.entries(error.fields ?? {}).map(([field, problem]) => `${field}: ${problem}`);
  return [error.message, ...fields].join(" ");
}

async function call(method, path, { headers, body, signal, patience_ms = PATIENCE_MS }) {
  for (;;) {
    const key = theKey();
    const sent = { method, body, headers: key ? { ...headers, "x-functions-key": key } : headers };
    const [answer, text] = await send(path, sent, signal, patience_ms);
    if (answer.status !== 401) return read(answer, text);
    await askForKey(key);
  }
}

async function send(path, request, signal, patience_ms) {
  const patience = AbortSignal.timeout(patience_ms);
  const until = signal ? AbortSignal.any([signal, patience]) : patience;
  try {
    const answer = await fetch(path, { ...request, cache: "no-store", signal: until });
    return [answer, await answer.text()];
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Unreachable();
  }
}

function read(answer, text) {
  noteDate(answer.headers.get("Date"));
  const value = parsed(text);
  if (answer.ok && value !== undefined) return value;
  throw new Refusal(answer.status, value?.error, Number(answer.headers.get("Retry-After")) || 0);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
