/** The parts of a form: labelled fields with what the server said of each, and its end. */

import { h } from "./dom.js";
import { whyNot } from "./send-once.js";

/** A labelled field; `input` are its properties, with an id, or a ready element. */
export function field(label, input, problem) {
  const part = input.tag ? input : h("input", { autocomplete: "off", ...input });
  const { props } = part;
  Object.assign(props, {
    name: props.id,
    "aria-describedby": problem ? `${props.id}-problem` : null,
    "aria-invalid": problem ? "true" : null,
  });
  return h("div", { class: "field", key: props.id },
    h("label", { for: props.id }, label),
    part,
    problem && h("p", { class: "bad small", id: `${props.id}-problem` }, problem));
}

/** Options of a select: pairs of value and text. */
export const options = (pairs) => pairs.map(([value, text]) => h("option", { value, key: value }, text));

/** Why it was not accepted, and its button. */
export const formEnd = (label, { isBusy, problem }) => [
  problem && h("p", { class: "bad", role: "alert", key: "problem" }, whyNot(problem)),
  h("div", { class: "actions end", key: "end" },
    h("button", { class: "primary", type: "submit", "aria-disabled": isBusy ? "true" : null }, label)),
];

/**
 * What a form does when it is sent: once at a time, `send(data)` with its FormData; then `done(answer, form)`.
 * `desk` gets `isBusy` and `problem`, `show` draws both.
 */
export const submitting = (desk, show, send, done) => async (event) => {
  event.preventDefault();
  if (desk.isBusy) return;
  const form = event.target;
  Object.assign(desk, { isBusy: true, problem: null });
  show();
  try {
    done(await send(new FormData(form)), form);
  } catch (error) {
    desk.problem = error;
  }
  desk.isBusy = false;
  show();
  form.querySelector("[aria-invalid]")?.focus();
};
