/** Filters of a list. They stand in the address, and each is laid over those that stand there when it is used. */

import { h } from "./dom.js";
import { options } from "./form.js";
import { go, here, link } from "./router.js";

/** What the address asks for, "" for what it leaves open. */
export const asked = (query, names) => Object.fromEntries(names.map((name) => [name, query.get(name) ?? ""]));

/** Whether it asks for anything. */
export const isFiltered = (filter) => Object.values(filter).some(Boolean);

/** The whole row; `others` are from `pick` and `search`. */
export const filters = (path, filter, chosen, ...others) =>
  h("div", { class: "filters" },
    chosen,
    h("form", { class: "filter-row", "aria-label": "More filters", onsubmit: (event) => event.preventDefault() },
      others,
      isFiltered(filter) && h("a", { href: link(path) }, "Clear")));

/** One filter as a line of words to click. */
export function chips(path, filter, name, label, all, pairs) {
  const chip = ([value, text]) =>
    h("a", {
      key: value, class: "chip", href: link(path, { ...filter, [name]: value }),
      "aria-current": filter[name] === value ? "true" : null,
      onclick: (event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        change(path, name, value);
      },
    }, text);
  return h("nav", { class: "chips", "aria-label": label }, [["", all], ...pairs].map(chip));
}

/** One filter as a list to choose from. */
export const pick = (path, filter, name, label, none, pairs) =>
  labelled(name, label, h("select", input(path, filter, name), options([["", none], ...pairs])));

/** One filter as a field to type into. */
export const search = (path, filter, name, placeholder) =>
  labelled(name, placeholder,
    h("input", { ...input(path, filter, name), type: "search", placeholder, spellcheck: "false" }));

const input = (path, filter, name) => ({
  id: `filter-${name}`,
  value: filter[name],
  onchange: (event) => change(path, name, event.target.value.trim()),
});

const labelled = (name, label, part) => h("label", { key: name }, h("span", { class: "unseen" }, label), part);

function change(path, name, value) {
  const { after: _, ...others } = Object.fromEntries(here().query);
  go(path, { ...others, [name]: value });
}
