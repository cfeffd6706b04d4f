/** What pages are made of: cards, pills, tables, lists of facts, words for nothing and for trouble, texts to copy. */

import { inWords } from "./api.js";
import { h } from "./dom.js";
import { say } from "./say.js";
import { ERRORS, PRIORITIES, STATES, ago, clock, word } from "./words.js";

/** The head of a page: its name, what belongs beside it, and a line below. */
export const head = (title, beside = null, below = null) =>
  h("header", { class: "head" },
    h("div", {}, h("h1", { tabindex: "-1" }, title), below && h("p", { class: "quiet" }, below)),
    beside && h("div", { class: "actions" }, beside));

/** The way to a page, above its head. */
export const crumbs = (path, section, name) =>
  h("nav", { class: "crumbs", "aria-label": "The way here" },
    h("a", { href: `#/${path}` }, section), h("span", {}, `/ ${name}`));

/** A part of a page under a title of its own. */
export const card = (title, ...parts) => h("section", { class: "card", key: title }, h("h2", {}, title), parts);

/** A state as a coloured word. */
export const pill = (state, text = STATES[state] ?? word(state)) =>
  h("span", { class: `pill ${state}` }, h("span", { class: "dot", "aria-hidden": "true" }), text);

/** A ticket's team. */
export const tag = (team) => h("span", { class: "tag" }, word(team));

/** A ticket's priority. */
export const priority = (number) => h("span", { class: `priority p${number}` }, PRIORITIES[number] ?? String(number));

/** A moment as a person says it; the exact one on a pointer's rest. */
export const when = (time) => h("time", { datetime: time, title: clock(time) }, ago(time));

/** A link that looks like a button. */
export const linkButton = (href, text, kind = "") => h("a", { class: `button ${kind}`, href }, text);

/** A link to a file of a job, which opens in a tab of its own. */
export const fileLink = (href, text, props = {}) => h("a", { ...props, href, target: "_blank", rel: "noopener" }, text);

/** A page that a job made, shown in a frame in which nothing can run. */
export const preview = (href, text) =>
  h("div", { class: "preview" },
    h("iframe", { src: href, sandbox: "", title: "Preview", loading: "lazy" }),
    fileLink(href, text));

/** Names and values; a pair that is no pair is left out. */
export const facts = (pairs) =>
  h("dl", { class: "facts" },
    pairs.filter(Boolean).map(([name, value]) => h("div", { key: name }, h("dt", {}, name), h("dd", {}, value))));

/** How much of the whole, as a bar. */
export const meter = (share, label) =>
  h("div", { class: "meter", role: "img", "aria-label": label },
    h("div", { style: { width: `${Math.min(100, 100 * share)}%` } }));

/** A table; `columns` are [title, class], `rows` {key, cells}. The roles are for phones, where it is laid out anew. */
export const table = (caption, columns, rows) =>
  h("table", { role: "table" },
    h("caption", { class: "unseen" }, caption),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, columns.map(([title, kind]) =>
      h("th", { role: "columnheader", class: kind, key: title }, title || h("span", { class: "unseen" }, "Actions"))))),
    h("tbody", { role: "rowgroup" }, rows.map(({ key, cells }) =>
      h("tr", { role: "row", key }, cells.map((cell, at) => h("td", { role: "cell", class: columns[at][1] }, cell))))));

/** A page's word when there is nothing to show. */
export const nothing = (title, text, beside = null) =>
  h("div", { class: "nothing" }, h("p", { class: "nothing-title" }, title), h("p", { class: "quiet" }, text), beside);

/** A page's word when the server said no. */
export function refused(error, beside) {
  const titles = { 404: "Not here", 422: "That is no filter of this list" };
  return nothing(titles[error.status] ?? "That did not work", inWords(error), beside);
}

/** Why something failed: in words, with the server's own and the code to search for. */
export const fault = (error) =>
  h("div", { class: "callout bad", key: "fault" },
    h("p", { class: "callout-title" }, ERRORS[error.code] ?? word(error.code)),
    h("p", {}, error.message),
    h("p", { class: "quiet small" }, h("code", {}, error.code), ` in attempt ${error.attempt}, ${clock(error.at)}`));

/** A text to copy, with its button; `what` begins the sentence that is said then. */
export const copyable = (text, what) =>
  h("div", { class: "copyable" },
    h("pre", { tabindex: "0" }, text),
    h("button", { type: "button", class: "small", onclick: () => copy(text, what) }, "Copy"));

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} is copied.`);
  } catch {
    say("The browser does not let this page copy: select the text and copy it.", "bad");
  }
}
