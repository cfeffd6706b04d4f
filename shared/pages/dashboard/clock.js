/** The server's time, as its answers tell it: this machine's clock may be wrong. */

let ahead_ms = 0;

/** Note the `Date` of an answer. */
export function noteDate(header) {
  const at = Date.parse(header ?? "");
  if (!Number.isNaN(at)) ahead_ms = at + 500 - Date.now(); // a date has whole seconds: half a one on average
}

/** Milliseconds since 1970, there. */
export const now = () => Date.now() + ahead_ms;

/** Seconds from then until now; 0 for what lies ahead. */
export const secondsSince = (time) => Math.max(0, (now() - Date.parse(time)) / 1000);
