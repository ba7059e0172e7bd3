// The behaviour of all forms: a button that can be disabled, a status line, errors next to the fields,
// and a countdown after too many requests.

import { element, part } from "./element.js";
import { Failure } from "./request.js";
import { countDown, whenOf } from "./time.js";

/** Messages by kind of failure. All other kinds have the same one. */
const KINDS = { lost: "form-lost", broken: "chat-broken" };

export class Form {
  #root;
  #message;
  #wordsOf;
  #button;
  #status;
  #isSending = false;
  #isWaiting = false;

  /** `wordsOf` returns the words for a failure; by default, a message. */
  constructor(root, message, wordsOf = ({ kind }) => message(KINDS[kind] ?? "form-failed")) {
    this.#root = root;
    this.#message = message;
    this.#wordsOf = wordsOf;
    this.#button = part(root, "[type=submit]");
    this.#status = part(root, ".status");
  }

  say(words, kind = "") {
    this.#status.ariaLive = "polite";
    this.#status.replaceChildren(...(words ? [element("p", { class: kind }, words)] : []));
  }

  /** Runs `submit` when the form is sent, one at a time, and `after` after each wait. */
  onSubmit(submit, after = () => {}) {
    this.#root.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (this.isHeld) {
        return;
      }
      this.#isSending = true;
      this.#showHeld();
      this.#clearErrors();
      this.say(this.#message("form-sending"));
      try {
        await submit();
      } catch (error) {
        this.#show(error instanceof Failure ? error : new Failure(), after);
      }
      this.#isSending = false;
      this.#showHeld();
    });
  }

  get isHeld() {
    return this.#isSending || this.#isWaiting;
  }

  /** Never sets `disabled`, so that the button keeps the focus. */
  #showHeld() {
    this.#button.setAttribute("aria-disabled", this.isHeld);
  }

  #waitFor({ waitSeconds: seconds, problem }, after) {
    const key = problem?.code === "assistant_quota_exhausted" ? "chat-used-up" : "form-wait";
    const wordsOf = (left) => this.#message(key, { when: whenOf(left, this.#message.language) });
    this.#isWaiting = true;
    this.say(wordsOf(seconds));
    const shown = this.#status.firstChild;
    const show = (left) => {
      const words = wordsOf(left);
      if (shown.textContent !== words) {
        // Screen readers have announced it once.
        this.#status.ariaLive = "off";
        shown.textContent = words;
      }
    };
    countDown(seconds, show, () => {
      this.#isWaiting = false;
      this.#showHeld();
      this.say(this.#message("form-again"));
      after();
    });
  }

  #clearErrors() {
    for (const field of this.#root.querySelectorAll("[aria-invalid]")) {
      field.removeAttribute("aria-invalid");
    }
    for (const error of this.#root.querySelectorAll(".error[id]")) {
      error.textContent = "";
      error.hidden = true;
    }
  }

  #show(failure, after) {
    const marked = failure.errors.filter((error) => this.#markField(error));
    if (failure.waitSeconds > 0) {
      this.#waitFor(failure, after);
    } else {
      this.say(marked.length > 0 ? "" : this.#wordsOf(failure), "error");
    }
    this.#root.querySelector("[aria-invalid]")?.focus();
  }

  /**
   * Shows an error next to its field, in the words of the field's `data-error`, or else of the API;
   * false if there is no such field.
   */
  #markField({ pointer, detail }) {
    const field = this.#root.elements.namedItem(String(pointer).split("/").pop());
    const error = field && this.#root.querySelector(`[id="${field.id}-error"]`);
    if (!error) {
      return false;
    }
    error.textContent = field.dataset.error ?? `${field.name} ${detail}.`;
    error.hidden = false;
    field.setAttribute("aria-invalid", "true");
    return true;
  }
}
