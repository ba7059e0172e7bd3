// What all forms have: a button that can be held back, a place for what is said, errors beside the
// fields, and a countdown.

import { element, part } from "./page.js";
import { Failure } from "./request.js";
import { duration, stopwatch } from "./time.js";

const TICK_MS = 250;

const plain = (text) => text.trim().toLowerCase();

export class Form {
  #root;
  #button;
  #status;
  #countdown;
  #isSending = false;
  #wait = null;

  constructor(root) {
    this.#root = root;
    this.#button = part(root, "[type=submit]");
    this.#status = part(root, ".status");
    this.#countdown = part(root, ".countdown");
  }

  say(words, kind = "") {
    this.#status.replaceChildren(...(words ? [element("p", words, kind)] : []));
  }

  /**
   * Has `submit` done whenever the form is sent, one at a time. Who has to wait because of what is
   * in one field only, which `heldField` tells of a failure, may send something else meanwhile.
   * After each wait there is `after` to do.
   */
  onSubmit(submit, { heldField = () => null, after = () => {} } = {}) {
    this.#root.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (this.#isHeld) {
        return;
      }
      this.#isSending = true;
      this.#showHeld();
      this.#clearErrors();
      this.say("One moment …");
      let failure = null;
      try {
        await submit();
      } catch (error) {
        failure = error instanceof Failure ? error : new Failure();
      }
      this.#isSending = false;
      if (failure) {
        this.#show(failure);
      }
      if (failure?.waitSeconds > 0) {
        this.#waitFor(failure.waitSeconds, heldField(failure), after);
      }
      this.#showHeld();
    });
    this.#root.addEventListener("input", () => this.#showHeld());
  }

  get #isHeld() {
    return this.#isSending || Boolean(this.#wait?.isMeant());
  }

  /** The button keeps the focus, so it is never really disabled. */
  #showHeld() {
    this.#button.setAttribute("aria-disabled", String(this.#isHeld));
    this.#countdown.textContent = this.#wait?.isMeant()
      ? `You can try again in ${duration(this.#wait.left())}.`
      : "";
  }

  #waitFor(seconds, field, after) {
    const passed = stopwatch();
    const held = field && plain(field.value);
    const wait = {
      left: () => Math.max(0, Math.ceil(seconds - passed())),
      isMeant: () => !field || plain(field.value) === held,
    };
    const tick = () => {
      if (this.#wait !== wait) {
        return;
      }
      if (wait.left() > 0) {
        this.#showHeld();
        setTimeout(tick, TICK_MS);
        return;
      }
      this.#wait = null;
      this.#showHeld();
      if (wait.isMeant() && !this.#isSending) {
        this.say("You can try again now.");
      }
      after();
    };
    this.#wait = wait;
    tick();
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

  #show(failure) {
    const elsewhere = failure.errors.filter((error) => !this.#markField(error));
    const more = elsewhere.map(({ pointer, detail }) => ` ${pointer} ${detail}.`);
    this.say(failure.message + more.join(""), "error");
    this.#root.querySelector("[aria-invalid]")?.focus();
  }

  /** Puts an error beside the field it is about; false if there is no such field. */
  #markField({ pointer, detail }) {
    const field = this.#root.elements.namedItem(String(pointer).split("/").pop());
    const error = field && document.getElementById(`${field.id}-error`);
    if (!error) {
      return false;
    }
    const label = field.labels?.[0]?.firstChild?.textContent.trim() ?? field.name;
    error.textContent = `${label} ${detail}.`;
    error.hidden = false;
    field.setAttribute("aria-invalid", "true");
    return true;
  }
}
