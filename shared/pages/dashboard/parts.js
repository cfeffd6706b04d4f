/** What pages are made of: state pills, tables, lists of facts, words for nothing and for trouble, things to copy. */

import { inWords } from "./api.js";
import { h } from "./dom.js";
import { say } from "./say.js";
import { ERRORS, STATES, ago, clock, word } from "./words.js";

/** A state as a coloured word. */
export const pill = (state, text = STATES[state] ?? word(state)) =>
  h("span", { class: `pill ${state}` }, h("span", { class: "dot", "aria-hidden": "true" }), text);

/** A moment as a person says it; the exact one on a pointer's rest. */
export const when = (time) => (time ? h("time", { datetime: time, title: clock(time) }, ago(time)) : "–");

/** The head of a page: its name, what belongs beside it, and a line below. */
export const head = (title, beside = null, below = null) =>
  h("header", { class: "head" },
    h("div", {}, h("h1", { tabindex: "-1" }, title), below && h("p", { class: "quiet" }, below)),
    beside && h("div", { class: "actions" }, beside));

/** Names and values; a pair whose value is null is left out. */
export const facts = (pairs) =>
  h("dl", { class: "facts" },
    pairs.filter(Boolean).map(([name, value]) => h("div", { key: name }, h("dt", {}, name), h("dd", {}, value))));

/** A table; `columns` are [title, class], `rows` are {key, cells}. The roles are for phones, where it is laid out anew. */
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
export const refused = (error, beside) =>
  error.status === 422
    ? nothing("That is no filter of this list", inWords(error), beside)
    : nothing(error.status === 404 ? "Not here" : "That did not work", inWords(error), beside);

/** Why something failed: in words, with the server's own and the code to search for. */
export const fault = (error) =>
  h("div", { class: "callout bad" },
    h("p", { class: "callout-title" }, ERRORS[error.code] ?? word(error.code)),
    h("p", {}, error.message),
    h("p", { class: "quiet small" }, h("code", {}, error.code), ` in attempt ${error.attempt}, ${clock(error.at)}`));

/** A labelled field of a form; `problem` is what the server said of it. */
export function field(label, input, { problem, hint } = {}) {
  const { id } = input.props;
  const notes = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(" ");
  input.props["aria-describedby"] = notes || null;
  input.props["aria-invalid"] = problem ? "true" : null;
  return h("div", { class: "field", key: id },
    h("label", { for: id }, label),
    input,
    hint && h("p", { class: "quiet small", id: `${id}-hint` }, hint),
    problem && h("p", { class: "bad small", id: `${id}-problem` }, problem));
}

/** Options of a select: [value, text], the first of them for none. */
export const options = (none, pairs) =>
  [["", none], ...pairs].map(([value, text]) => h("option", { value, key: value }, text));

/** A text to copy, with its button. */
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
