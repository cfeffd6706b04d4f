/** Saying what came of an action, to eyes and to screen readers; and doing each action once at a time. */

import { inWords } from "./api.js";
import { draw, h } from "./dom.js";

const SHOWN_FOR_MS = 9000;
const underWay = new Set();
let timer = 0;

/** Say a sentence; `tone` is good or bad. */
export function say(text, tone = "good") {
  const place = document.getElementById("said");
  draw(place, h("p", { class: `toast ${tone}` }, text));
  clearTimeout(timer);
  timer = setTimeout(() => draw(place), SHOWN_FOR_MS);
}

/** Whether the action of that name is under way. */
export const isUnderWay = (name) => underWay.has(name);

/**
 * Do `work` unless it is under way already; what it returns, if anything, is said, and what it raises. `redraw` shows
 * the buttons. Returns whether it was done.
 */
export async function act(name, redraw, work) {
  if (underWay.has(name)) return false;
  underWay.add(name);
  redraw();
  try {
    const done = await work();
    if (done) say(done);
    return true;
  } catch (error) {
    say(inWords(error), "bad");
    return false;
  } finally {
    underWay.delete(name);
    redraw();
  }
}

/** A button that cannot be pressed twice: it keeps the focus while its action is under way. */
export function button(label, name, onclick, props = {}) {
  const busy = isUnderWay(name);
  const press = () => busy || onclick();
  return h("button", { type: "button", ...props, onclick: press, "aria-disabled": busy ? "true" : null }, label);
}
