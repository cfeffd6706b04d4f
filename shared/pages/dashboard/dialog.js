/** A question before something is done that cannot be undone, or that needs a name. */

import { inWords } from "./api.js";
import { draw, h } from "./dom.js";
import { field } from "./form.js";
import { say } from "./say.js";

const NAME = "larkfield.name";

/** The name of the person at this browser, as they gave it last. */
export const theName = () => localStorage.getItem(NAME) ?? "";

/** Keep it for the next time. */
export const keepName = (name) => localStorage.setItem(NAME, name);

/**
 * Ask; `act({name, tell, signal})` is done when the person agrees: `tell` shows how far it is, `signal` is aborted when
 * the dialog is closed. What it returns is said. `wantsName`: the person says who they are. Resolves when it is closed.
 */
export function ask({ title, text, label, tone = "primary", wantsName = false, act }) {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "dialog-title");
  document.body.append(dialog);
  const closed = new AbortController();
  let busy = false;
  let told = null;
  const show = () => draw(dialog, view());
  const agree = async (event) => {
    event.preventDefault();
    if (busy) return;
    const name = dialog.querySelector("input")?.value.trim() ?? "";
    if (wantsName) keepName(name);
    busy = true;
    told = null;
    show();
    try {
      const tell = (progress) => ((told = h("p", { class: "quiet", role: "status" }, progress)), show());
      say(await act({ name, tell, signal: closed.signal }));
      dialog.close();
    } catch (error) {
      busy = false;
      told = h("p", { class: "bad", role: "alert" }, inWords(error));
      show();
    }
  };
  const view = () =>
    h("form", { onsubmit: agree },
      h("h2", { id: "dialog-title" }, title),
      h("p", {}, text),
      wantsName &&
        field("Your name", { id: "your-name", value: theName(), required: true, maxlength: 200, autocomplete: "name" }),
      h("div", { key: "told" }, told),
      h("div", { class: "actions end" },
        h("button", { type: "button", onclick: () => dialog.close() }, busy ? "Close" : "Cancel"),
        h("button", { type: "submit", class: tone, "aria-disabled": busy ? "true" : null }, label)));
  show();
  dialog.showModal();
  window.addEventListener("hashchange", () => dialog.close(), { signal: closed.signal });
  return new Promise((resolve) =>
    dialog.addEventListener("close", () => {
      closed.abort();
      dialog.remove();
      if (document.activeElement === document.body) document.querySelector("h1")?.focus();
      resolve();
    }),
  );
}
