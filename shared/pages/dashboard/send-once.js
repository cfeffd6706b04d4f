/** A form's content sent so that it counts once, however often the button is pressed or the answer is lost. */

import { Unreachable, post } from "./api.js";

/** Returns a function that posts a body; the same body again goes out under the same Idempotency-Key. */
export function sendOnce(path) {
  let key = "";
  let sent = "";
  return async (body) => {
    const text = JSON.stringify(body);
    if (text !== sent) [key, sent] = [makeKey(), text];
    const accepted = await post(path, body, { "Idempotency-Key": key });
    sent = "";
    return accepted;
  };
}

/** What a person should know when a form was not accepted. */
export function whyNot(error) {
  if (error instanceof Unreachable) return "No answer came. Send it again: it will not be taken twice.";
  return error.retryAfterS ? `${error.message} Try again in ${error.retryAfterS} s.` : error.message;
}

const makeKey = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");
