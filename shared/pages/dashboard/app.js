/** The start: which page an address means, and what a page gets to work with. */

import { draw, h } from "./dom.js";
import { live } from "./live.js";
import { head, linkButton, nothing, refused } from "./parts.js";
import { here, link } from "./router.js";

const PAGES = [
  [/^$/, "Overview", async () => (await import("./overview.js")).overview],
  [/^jobs$/, "Jobs", async () => (await import("./jobs.js")).jobs],
  [/^jobs\/([^/]+)$/, "Job", async () => (await import("./job.js")).job],
  [/^tickets$/, "Tickets", async () => (await import("./tickets.js")).tickets],
  [/^tickets\/new$/, "New ticket", async () => (await import("./new-ticket.js")).newTicket],
  [/^tickets\/([^/]+)$/, "Ticket", async () => (await import("./ticket.js")).ticket],
  [/^reports$/, "Reports", async () => (await import("./reports.js")).reports],
];
const NOWHERE = [null, "Not found", async () => notFound];
const REST_AFTER_MS = 1000; // the first numbers come first, then what the other pages need

const UNLOADED = nothing("This part did not load", "The server may be away: reload the page in a moment.");
const main = document.getElementById("main");
let leave = new AbortController();
let lastPlace = null;

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
  const place = `${address} ${query.get("after")}`; // other filters are the same place, another page of a list is not
  let isArrival = lastPlace !== null && lastPlace !== place;
  lastPlace = place;
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
  const [pattern, title, load] = PAGES.find(([known]) => known.test(address)) ?? NOWHERE;
  stage.args = (pattern?.exec(address) ?? []).slice(1);
  document.title = `${[title, ...stage.args].join(" ")} · Larkfield`;
  load().then((page) => signal.aborted || page(stage), () => show(head("Nothing to show"), UNLOADED));
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
setTimeout(() => Promise.allSettled(PAGES.map(([, , load]) => load())), REST_AFTER_MS);
