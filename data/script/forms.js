// The short forms of the pages: keys, and trying an operation in the docs.

import { Form, languageAt, messagesIn, part, post } from "../embed.js";
import { copiesFrom } from "./page.js";

export const key = (root) => {
  const form = new Form(root, messagesIn(languageAt(root)));
  const place = part(root, ".key");
  const [value, button, hint] = ["code", "button", ".hint"].map((selector) => part(place, selector));
  form.onSubmit(async () => {
    const label = root.elements.label.value;
    const issued = (await post("/api/v1/keys", label ? { label } : {})).value;
    // Not earlier: after a failure, the previous key may be the only copy.
    value.textContent = issued.api_key;
    const day = new Date(issued.expires_at).toLocaleDateString("en", { dateStyle: "long" });
    hint.textContent = `Valid until ${day}. Send it as X-API-Key.`;
    place.hidden = false;
    form.say("Here is your key. It is shown only once.");
  });
  copiesFrom(button, value);
  // Otherwise, going back to the page would show it again.
  addEventListener("pagehide", () => {
    value.textContent = "";
    hint.textContent = "";
    if (!place.hidden) {
      form.say("");
    }
    place.hidden = true;
  });
};

const valueOf = (field) => (field.type === "checkbox" ? field.checked : field.value);

/** For developers, a failure in the words of the API, if there are any. */
const problemOf = ({ kind, problem, answer }, message) => {
  const words = [problem?.detail ?? problem?.title, problem?.resolution].filter(Boolean).join(" ");
  const status = answer && !words ? ` (HTTP ${answer.status})` : "";
  return words || message(kind === "lost" ? "form-lost" : "form-failed") + status;
};

/** Sends the fields as a JSON body and shows the raw response. */
export const tryIt = (root) => {
  const message = messagesIn(languageAt(root));
  const form = new Form(root, message, (failure) => problemOf(failure, message));
  const output = part(root, "output");
  form.onSubmit(async () => {
    output.hidden = true;
    const fields = [...root.elements].filter((field) => field.name && (field.required || valueOf(field)));
    const body = Object.fromEntries(fields.map((field) => [field.name, valueOf(field)]));
    const { answer, value } = await post(root.dataset.path, body);
    const limit = answer.headers.get("RateLimit");
    const head = [`HTTP ${answer.status}`, ...(limit === null ? [] : [`RateLimit: ${limit}`])];
    output.textContent = `${head.join("\n")}\n\n${JSON.stringify(value, null, 2)}`;
    output.hidden = false;
    form.say("The response is below.");
  });
};
