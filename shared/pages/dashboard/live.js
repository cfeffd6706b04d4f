/** Keeping a page up to date: one question at a time, only while somebody can see it, ever more slowly in trouble. */

import { isBack, isLost } from "./connection.js";

const LONGEST_PAUSE_MS = 15_000;

/**
 * Ask again and again until `signal` ends it. `round(signal, mayHold)` asks once, shows the answer and returns
 * the pause before the next time in milliseconds, null = never again by itself; `mayHold`: what is shown is so new that
 * the server may hold its answer until that changes. A no that will not pass ends it and goes to `onRefusal`.
 * Returns a function that begins a round now.
 */
export function live(signal, round, onRefusal) {
  let wake = () => {};
  let current = new AbortController();
  let isWanted = false;
  let mayHold = false;
  const now = () => {
    isWanted = true;
    mayHold = false;
    current.abort(); // its answer would be older than what is shown, or is held for nobody
    wake();
  };
  document.addEventListener("visibilitychange", now, { signal });
  window.addEventListener("online", now, { signal });
  signal.addEventListener("abort", () => (current.abort(), wake()));

  const sleep = (pause_ms) =>
    new Promise((resolve) => {
      const timer = pause_ms === null ? null : setTimeout(resolve, pause_ms);
      wake = () => (clearTimeout(timer), resolve());
      if (isWanted && !document.hidden) wake();
    });

  const loop = async () => {
    let failures = 0;
    while (!signal.aborted) {
      if (document.hidden) {
        await sleep(null);
        continue;
      }
      isWanted = false;
      current = new AbortController();
      let pause_ms;
      try {
        const holds = mayHold;
        mayHold = true;
        pause_ms = await round(current.signal, holds);
        failures = 0;
        isBack();
      } catch (error) {
        if (signal.aborted) return undefined;
        mayHold = false;
        if (current.signal.aborted) continue;
        if (!error.isPassing) {
          isBack();
          return onRefusal(error);
        }
        failures += 1;
        isLost(error);
        const asked_s = error.retryAfterS ?? 0;
        pause_ms = Math.min(LONGEST_PAUSE_MS, 1000 * Math.max(2 ** Math.min(failures, 4), asked_s));
      }
      await sleep(pause_ms);
    }
    return undefined;
  };
  loop();
  return now;
}
