/** The start: which page an address means, and what a page gets to work with. */

import { draw, h } from "./dom.js";
import { job } from "./job.js";
import { jobs } from "./jobs.js";
import { live } from "./live.js";
import { newTicket } from "./new-ticket.js";
import { overview } from "./overview.js";
import { head, linkButton, nothing, refused } from "./parts.js";
import { reports } from "./reports.js";
import { here, link } from "./router.js";
import { ticket } from "./ticket.js";
import { tickets } from "./tickets.js";

const PAGES = [
  [/^$/, "Overview", overview],
  [/^jobs$/, "Jobs", jobs],
  [/^jobs\/([^/]+)$/, "Job", job],
  [/^tickets$/, "Tickets", tickets],
  [/^tickets\/new$/, "New ticket", newTicket],
  [/^tickets\/([^/]+)$/, "Ticket", ticket],
  [/^reports$/, "Reports", reports],
];

const main = document.getElementById("main");
let leave = new AbortController();
let lastPath = null;

/**
 * Open the page that the address means.
 *
 * A page is a function of its stage: `args` from the path, `query`, `show(...trees)` to draw, and
 * `live(round, home, signal)` to keep it up to date until somebody leaves; a no of the server is shown with a link to
 * `home`.
 */
function open() {
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  const { path, query } = here();
  const address = path.join("/");
  let isArrival = lastPath !== null && lastPath !== address;
  lastPath = address;
  const show = (...trees) => {
    if (signal.aborted) return;
    drawMain(h("div", { key: address, class: "page" }, trees));
    if (isArrival) {
      main.querySelector("h1")?.focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
    isArrival = false;
  };
  const stage = {
    query,
    show,
    live: (round, home, more) => {
      const until = more ? AbortSignal.any([signal, more]) : signal;
      return live(until, round, (error) => {
        show(head("Nothing to show"), refused(error, home && linkButton(home, "Start again")));
      });
    },
  };
  markPlace(path[0] ?? "");
  const [pattern, title, page] = PAGES.find(([known]) => known.test(address)) ?? [null, "Not found", notFound];
  stage.args = (pattern?.exec(address) ?? []).slice(1);
  document.title = `${[title, ...stage.args].join(" ")} · Larkfield`;
  page(stage);
}

/** Draw; what has the focus and goes away hands it to the page's title, and new rows push nothing out of sight. */
function drawMain(tree) {
  const focused = document.activeElement;
  const rows = window.scrollY > 0 ? [...main.querySelectorAll("tbody tr")] : [];
  const held = rows.find((row) => row.getBoundingClientRect().top > 0);
  const top = held?.getBoundingClientRect().top;
  draw(main, tree);
  if (held?.isConnected) window.scrollBy(0, held.getBoundingClientRect().top - top);
  if (focused && !focused.isConnected) main.querySelector("h1")?.focus();
}

function notFound(stage) {
  const way = linkButton(link(""), "To the overview");
  stage.show(head("Nothing to show"), nothing("There is no such page", "The address may be mistyped.", way));
}

function markPlace(section) {
  for (const item of document.querySelectorAll("[data-section]")) {
    if (item.dataset.section === section) item.setAttribute("aria-current", "page");
    else item.removeAttribute("aria-current");
  }
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address belongs to the router
  main.focus();
});
window.addEventListener("hashchange", open);
open();
