/** The help desk's list: filters, pages. */

import { get, withQuery } from "./api.js";
import { h } from "./dom.js";
import { asked, chips, filters, isFiltered, pick, search } from "./filters.js";
import { pager } from "./pager.js";
import { head, linkButton, nothing, pill, priority, table, tag, when } from "./parts.js";
import { link } from "./router.js";
import { STATES, TEAMS, word } from "./words.js";

const EVERY_MS = 2000;
const PATH = "tickets";
const COLUMNS = [
  ["Ticket"], ["Subject", "grow"], ["Team"], ["Priority", "wide"], ["AI work", "wide"], ["Created", "number"],
];

/** Show a page of tickets. */
export function tickets(stage) {
  const filter = asked(stage.query, ["team", "ai_state", "customer_id", "workspace_id"]);
  const after = stage.query.get("after");
  stage.live(async (signal) => {
    const page = await get(withQuery("/v1/tickets", { ...filter, limit: 50, after }), { signal });
    stage.show(
      head("Tickets", linkButton(link("tickets/new"), "New ticket", "primary")),
      filters(PATH, filter,
        chips(PATH, filter, "team", "Team", "All teams", TEAMS.map((team) => [team, word(team)])),
        pick(PATH, filter, "ai_state", "State of the AI work", "AI work in every state", Object.entries(STATES)),
        search(PATH, filter, "customer_id", "Customer"),
        search(PATH, filter, "workspace_id", "Workspace")),
      page.items.length
        ? h("div", { class: "card list" }, table("Tickets, newest first", COLUMNS, page.items.map(row)))
        : empty(filter),
      pager(PATH, filter, after, page.next),
    );
    return EVERY_MS;
  }, link(PATH));
}

const row = (ticket) => ({
  key: ticket.ticket_id,
  cells: [
    h("a", { class: "row-link", href: link(`tickets/${ticket.ticket_id}`) }, ticket.ticket_id),
    [
      h("span", { class: "subject" }, ticket.subject),
      h("span", { class: "quiet small under" }, `${ticket.customer_id} · ${ticket.workspace_id}`),
    ],
    ticket.team ? tag(ticket.team) : h("span", { class: "quiet" }, "…"),
    ticket.priority && priority(ticket.priority),
    ticket.ai_state && pill(ticket.ai_state),
    when(ticket.created_at),
  ],
});

function empty(filter) {
  const to = (path, text) => linkButton(link(path), text);
  return isFiltered(filter)
    ? nothing("No ticket fits", "Nothing has all of these together.", to(PATH, "Show all tickets"))
    : nothing("No tickets yet", "The first one brings this page to life.", to("tickets/new", "New ticket"));
}
