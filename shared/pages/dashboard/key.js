/** The function key: asked for when the server wants one, kept for this tab, sent in a header, never in an address. */

import { draw, h } from "./dom.js";

const NAME = "larkfield.key";

/** @type {Promise<void>|null} */
let asking = null;

/** The key that was given, or null. */
export const theKey = () => sessionStorage.getItem(NAME);

/** Resolves when there is another key than `refused`; everybody who waits is asked once. */
export function askForKey(refused) {
  if (theKey() !== refused) return Promise.resolve();
  asking ??= new Promise((resolve) => {
    show(refused !== null, (key) => {
      sessionStorage.setItem(NAME, key);
      asking = null;
      resolve();
    });
  });
  return asking;
}

function show(wasRefused, give) {
  sessionStorage.removeItem(NAME);
  const place = document.getElementById("key");
  const done = (event) => {
    event.preventDefault();
    const key = place.querySelector("input").value.trim();
    if (!/^[\x21-\x7e]+$/.test(key)) return; // nothing else can travel in a header
    place.onclose = null;
    place.close();
    draw(place);
    give(key);
  };
  draw(
    place,
    h("form", { onsubmit: done },
      h("h2", { id: "key-title" }, "This app wants its function key"),
      h("p", { id: "key-why", class: wasRefused ? "bad" : "quiet", role: wasRefused ? "alert" : null },
        wasRefused
          ? "The server refused that key. Check it and try again."
          : "You find it in the Azure portal under App keys. It stays in this tab and is sent as a header."),
      h("label", { for: "key-input" }, "Function key"),
      h("input", { id: "key-input", type: "password", autocomplete: "off", spellcheck: "false", required: true,
        "aria-describedby": "key-why", "aria-invalid": wasRefused ? "true" : null }),
      h("button", { class: "primary", type: "submit" }, "Continue"),
    ),
  );
  place.onclose = () => place.showModal(); // Escape: nothing goes on without a key
  place.showModal(); // above a dialog that may be open
}
