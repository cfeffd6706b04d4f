/** Going through a long list: on by the cursor that the server gave, back the way one came. */

import { h } from "./dom.js";
import { linkButton } from "./parts.js";
import { link } from "./router.js";

/** @type {Map<string, string>} the cursor of the page from which one came, by the page's address */
const cameFrom = new Map();

/** The links below a list; `after` is the cursor of the page that is shown, null on the first. */
export function pager(path, filter, after, next) {
  if (!after && !next) return null;
  const to = (cursor) => link(path, { ...filter, after: cursor });
  if (next) cameFrom.set(to(next), after ?? "");
  return h("nav", { class: "pager", "aria-label": "Pages" },
    after ? linkButton(to(cameFrom.get(to(after)) ?? ""), "← Newer") : h("span"),
    next && linkButton(to(next), "Older →"));
}
