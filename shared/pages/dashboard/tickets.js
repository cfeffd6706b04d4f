/** The help desk's list: filters that stand in the address, pages. */

import { get, withQuery } from "./api.js";
import { h } from "./dom.js";
import { pager } from "./pager.js";
import { head, nothing, options, pill, table, when } from "./parts.js";
import { go, link } from "./router.js";
import { PRIORITIES, STATES, TEAMS, word } from "./words.js";

const EVERY_MS = 2000;
const NAMES = ["team", "ai_state", "customer_id", "workspace_id"];
const COLUMNS = [["Ticket"], ["Subject", "grow"], ["Team"], ["Priority", "wide"], ["AI work", "wide"], ["Created", "number"]];

/** Show a page of tickets. */
export function tickets(stage) {
  const asked = Object.fromEntries(NAMES.map((name) => [name, stage.query.get(name) ?? ""]));
  const after = stage.query.get("after");
  stage.live(async (signal) => {
    const page = await get(withQuery("/v1/tickets", { ...asked, limit: 50, after }), { signal });
    stage.show(
      head("Tickets", h("a", { class: "button primary", href: link("tickets/new") }, "New ticket")),
      filters(asked),
      page.items.length
        ? h("div", { class: "card list" }, table("Tickets, newest first", COLUMNS, page.items.map(row)))
        : empty(asked),
      pager("tickets", asked, after, page.next),
    );
    return EVERY_MS;
  }, link("tickets"));
}

function filters(asked) {
  const change = (name) => (event) => go("tickets", { ...asked, [name]: event.target.value.trim() });
  const chip = (team, text) =>
    h("a", { key: team, class: "chip", href: link("tickets", { ...asked, team }), "aria-current": asked.team === team ? "true" : null }, text);
  const search = (name, text) =>
    h("label", {}, h("span", { class: "unseen" }, text),
      h("input", { id: `filter-${name}`, type: "search", placeholder: text, value: asked[name], spellcheck: "false", onchange: change(name) }));
  return h("div", { class: "filters" },
    h("nav", { class: "chips", "aria-label": "Team" }, chip("", "All teams"), TEAMS.map((team) => chip(team, word(team)))),
    h("form", { class: "filter-row", onsubmit: (event) => event.preventDefault(), "aria-label": "More filters" },
      h("label", {}, h("span", { class: "unseen" }, "State of the AI work"),
        h("select", { id: "filter-ai", value: asked.ai_state, onchange: change("ai_state") }, options("AI work in every state", Object.entries(STATES)))),
      search("customer_id", "Customer"),
      search("workspace_id", "Workspace"),
      NAMES.some((name) => asked[name]) && h("a", { href: link("tickets") }, "Clear")));
}

const row = (ticket) => ({
  key: ticket.ticket_id,
  cells: [
    h("a", { class: "row-link", href: link(`tickets/${ticket.ticket_id}`) }, ticket.ticket_id),
    [h("span", { class: "subject" }, ticket.subject), h("span", { class: "quiet small under" }, `${ticket.customer_id} · ${ticket.workspace_id}`)],
    ticket.team ? h("span", { class: "tag" }, word(ticket.team)) : h("span", { class: "quiet" }, "…"),
    ticket.priority ? h("span", { class: `priority p${ticket.priority}` }, PRIORITIES[ticket.priority]) : "",
    ticket.ai_state ? pill(ticket.ai_state) : "",
    when(ticket.created_at),
  ],
});

function empty(asked) {
  return NAMES.some((name) => asked[name])
    ? nothing("No ticket fits", "Nothing has all of these together.", h("a", { class: "button", href: link("tickets") }, "Show all tickets"))
    : nothing("No tickets yet", "The first one brings this page to life.", h("a", { class: "button", href: link("tickets/new") }, "New ticket"));
}
