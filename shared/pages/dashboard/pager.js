/** Going through a long list: on by the cursor that the server gave, back the way one came. */

import { h } from "./dom.js";
import { link } from "./router.js";

/** @type {Map<string, string>} the page from which one came, by that page's address and cursor */
const cameFrom = new Map();

/** The links below a list; `after` is the cursor of the page that is shown, null on the first. */
export function pager(path, asked, after, next) {
  if (!after && !next) return null;
  const before = cameFrom.get(link(path, { ...asked, after })) ?? "";
  const remember = () => cameFrom.set(link(path, { ...asked, after: next }), after ?? "");
  return h("nav", { class: "pager", "aria-label": "Pages" },
    after ? h("a", { key: "back", class: "button", href: link(path, { ...asked, after: before }) }, "← Newer") : h("span", { key: "none" }),
    next && h("a", { key: "next", class: "button", href: link(path, { ...asked, after: next }), onclick: remember }, "Older →"));
}
