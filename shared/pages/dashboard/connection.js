/** Whether the server answers: a line that says when it last did, and a notice while it does not. */

import { now } from "./clock.js";
import { draw, h } from "./dom.js";
import { clock, duration } from "./words.js";

let lostAt = 0;
let ticking = 0;

/** The server has answered. */
export function isBack() {
  lostAt = 0;
  clearInterval(ticking);
  ticking = 0;
  const text = `Updated ${clock(now())}`;
  draw(document.getElementById("updated"), h("span", { class: "dot good", "aria-hidden": "true" }), text);
  document.getElementById("notice").hidden = true;
}

/** The server has not answered, or is in trouble. */
export function isLost(error) {
  lostAt ||= Date.now();
  const notice = document.getElementById("notice");
  const show = () =>
    draw(
      notice,
      h("strong", {}, error.message),
      " Trying again, what you see is older. ",
      h("span", { "aria-hidden": "true" }, `For ${duration((Date.now() - lostAt) / 1000)} now.`),
    );
  show();
  notice.hidden = false;
  clearInterval(ticking);
  ticking = setInterval(show, 1000);
}
