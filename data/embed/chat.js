// <landing-chat>: a conversation with the assistant, in the page or in a panel that a button opens.

import { LandingElement, define, element, styled } from "./element.js";
import { Form } from "./form.js";
import { markdown } from "./markdown.js";
import { Failure, converse, quota } from "./request.js";
import { whenOf } from "./time.js";

/** Limits of the API, per request and per message. */
const MESSAGES_MAX = 12;
const CONTENT_MAX = 2000;
/** Messages that survive a reload. */
const KEPT_MAX = 40;

/** The questions that the service offers where a page gives none, in each language. The service puts them here. */
const SUGGESTIONS={};

const built = (child) =>
  typeof child === "string" ? child : element(child.tag, child.attributes, ...child.children.map(built));

const suggestion = (words) => styled("button", "suggestion", { type: "button" }, words);

class LandingChat extends LandingElement {
  #messages = [];
  #parts;
  #form;
  #running = null;
  /** The suggestion that was pressed, until it is sent. */
  #chosen = null;

  build(root) {
    const { message } = this;
    const button = (className, words, attributes) =>
      styled("button", className, { type: "button", ...attributes }, words);
    const talk = styled("div", "log", { role: "log", "aria-label": message("chat-assistant") });
    const input = styled("textarea", "input", {
      id: "question",
      name: "content",
      rows: "1",
      enterkeyhint: "send",
      placeholder: this.getAttribute("placeholder"),
      "data-error": message("chat-check", { max: CONTENT_MAX.toLocaleString(message.language) }),
      "aria-describedby": "question-error",
    });
    const given = this.getAttribute("suggestions") ?? SUGGESTIONS[message.language];
    const chips = given.split("|").map((text) => text.trim()).filter(Boolean).map(suggestion);
    const stop = button("stop", message("chat-stop"));
    const restart = button("restart", message("chat-restart"));
    const left = styled("p", "left", { id: "left" });
    const greeting = message("assistant-greeting");
    const suggestions = styled("div", "suggestions", {}, ...chips);
    const form = styled(
      "form",
      "form",
      { novalidate: "" },
      suggestions,
      styled("label", "label", { for: "question" }, this.words("label", "chat-label")),
      input,
      styled("p", "error", { id: "question-error", hidden: "" }),
      styled("div", "status", { role: "status" }),
      styled(
        "div",
        "actions",
        {},
        button("button", message("chat-send"), { type: "submit", "aria-describedby": "left" }),
        stop,
        restart,
        left,
      ),
    );
    const content = styled("div", "chat", {}, talk, form, ...this.privacy());
    this.#parts = { root, talk, input, stop, restart, left, suggestions, form, content };
    this.#wire();
    root.append(...(this.#isPanel ? this.#panel(content, button, greeting) : [...this.introduction("", greeting), content]));
    this.#remember();
    this.#showState();
  }

  get #isPanel() {
    return this.getAttribute("mode") === "button";
  }

  /** Restores the conversation after a reload. Storage may be blocked. */
  #remember() {
    try {
      for (const { role, content } of JSON.parse(sessionStorage.getItem(this.#key))) {
        this.#parts.talk.append(role === "user" ? this.#question(content) : this.#answer(content));
        this.#messages.push({ role, content });
      }
    } catch {
      // The conversation starts from scratch.
    }
  }

  /** Stores the conversation until the tab is closed. */
  #keep(messages) {
    this.#messages = messages.slice(-KEPT_MAX);
    try {
      sessionStorage.setItem(this.#key, JSON.stringify(this.#messages));
    } catch {
      // Without storage, it lasts as long as the page.
    }
  }

  get #key() {
    return `landing-chat ${this.base}`;
  }

  start() {
    // On the service's own pages, a panel asks for the quota when it is first opened.
    if (!this.#isPanel || this.base !== self.origin) {
      this.#peek();
    }
  }

  /** A button that opens a panel with `content`. */
  #panel(content, button, greeting) {
    const words = this.words("button", "chat-open");
    const launcher = button("launcher", words, { "aria-expanded": "false", "aria-haspopup": "dialog" });
    const close = button("close", this.message("chat-close"));
    const top = styled("div", "top", {}, element("div", {}, ...this.introduction(words, greeting)), close);
    const panel = styled("dialog", "panel", { "aria-labelledby": "heading" }, top, content);
    const toggle = (isOpen) => {
      launcher.setAttribute("aria-expanded", isOpen);
      if (isOpen) {
        panel.show();
        this.#parts.input.focus();
        this.#toEnd();
        this.#peek();
      } else {
        panel.close();
        launcher.focus();
      }
    };
    launcher.addEventListener("click", () => toggle(!panel.open));
    close.addEventListener("click", () => toggle(false));
    panel.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.isComposing && !event.defaultPrevented) {
        toggle(false);
      }
    });
    return [launcher, panel];
  }

  #wire() {
    const { input, stop, restart, form, content } = this.#parts;
    this.#form = new Form(form, this.message);
    this.#form.onSubmit(() => this.#submit(), () => this.#peek());
    stop.addEventListener("click", () => {
      this.#running?.abort();
      input.focus();
    });
    restart.addEventListener("click", () => {
      this.#keep([]);
      this.#parts.talk.replaceChildren();
      this.#showState();
      input.focus();
    });
    content.addEventListener("click", ({ target }) => {
      if (target.matches(".suggestion") && !this.#form.isHeld) {
        this.#chosen = target.textContent;
        form.requestSubmit();
        input.focus();
      }
    });
    this.#parts.form.addEventListener("keydown", (event) => {
      // While a character is being composed, Enter selects it. Safari shows that only in the code.
      const isComposing = event.isComposing || event.keyCode === 229;
      if (event.key === "Escape" && this.#running && !isComposing) {
        event.preventDefault();
        stop.click();
      } else if (event.key === "Enter" && event.target === input && !event.shiftKey && !isComposing) {
        event.preventDefault();
        form.requestSubmit();
      }
    });
  }

  #turn(who, className, ...blocks) {
    const name = styled("p", "who", {}, this.message(who));
    return styled("div", `turn ${className}`, {}, name, styled("div", "text", {}, ...blocks));
  }

  #question(text) {
    return this.#turn("chat-you", "question", element("p", {}, text));
  }

  #answer(text) {
    return this.#turn("chat-assistant", "answer", ...this.#blocks(text));
  }

  #blocks(text) {
    const { base } = this;
    const blocks = markdown(text, (url) => url.origin === base).map(built);
    for (const item of blocks.flatMap((block) => (block.matches("menu") ? [...block.children] : []))) {
      item.replaceChildren(suggestion(item.textContent));
    }
    return blocks;
  }

  #showState() {
    const { talk, restart, stop, suggestions } = this.#parts;
    const isEmpty = !talk.hasChildNodes();
    // A scrolling area must be reachable by keyboard.
    talk.toggleAttribute("tabindex", false);
    if (!isEmpty) {
      talk.tabIndex = 0;
    }
    restart.hidden = isEmpty || Boolean(this.#running);
    suggestions.hidden = !isEmpty || !suggestions.hasChildNodes();
    stop.hidden = !this.#running;
  }

  #toEnd() {
    const { talk } = this.#parts;
    talk.scrollTop = talk.scrollHeight;
  }

  /** Scrolls so that an answer is read from its beginning, with the question above. */
  #toTop(turn) {
    const { talk } = this.#parts;
    talk.scrollTop = turn.offsetTop - talk.offsetTop;
  }

  async #peek() {
    try {
      this.#showQuota(await quota(this.base));
    } catch (failure) {
      if (await this.isRefused(failure)) {
        // Show the element's content instead, even in place of a launcher.
        console.error(`landing-chat: ${this.base} needs --allow-origin ${self.origin}`);
        const isLed = self.origin === "null" && !this.childElementCount;
        const instead = isLed ? this.leadTo("/", "chat-open") : element("slot");
        this.#parts[this.#isPanel ? "root" : "content"].replaceChildren(instead);
        this.hidden = !isLed && !this.childElementCount;
      }
    }
  }

  #showQuota(answer) {
    const [, n, seconds] = /^"assistant";r=(\d+);t=(\d+)/.exec(answer?.headers.get("RateLimit") ?? "") ?? [];
    if (n) {
      // An error already says when to try again.
      const key = n === "0" && answer.ok ? "chat-used-up" : "chat-left";
      const when = whenOf(seconds, this.message.language);
      const max = answer.headers.get("RateLimit-Limit");
      this.#parts.left.textContent = this.message(key, { n, max, when });
      // Only worth showing once half of them are used.
      this.#parts.left.hidden = 2 * n > max;
    }
  }

  /** Returns the answer's text. `grown` is called with the text so far, repeatedly. */
  async #ask(question, stopped, grown) {
    // An answer may be longer than a request allows.
    const past = this.#messages.map(({ role, content }) => ({
      role,
      content: [...content].slice(0, CONTENT_MAX).join(""),
    }));
    const messages = [...past, { role: "user", content: question }].slice(-MESSAGES_MAX);
    let shown = "";
    try {
      return await converse(this.base, messages, {
        language: this.message.language,
        stopped,
        begun: (answer) => this.#showQuota(answer),
        grown: (piece) => grown((shown += piece)),
      });
    } catch (failure) {
      this.#showQuota(failure.answer);
      throw failure;
    }
  }

  async #submit() {
    const { talk, input, stop } = this.#parts;
    const chosen = this.#chosen;
    this.#chosen = null;
    const question = chosen ?? input.value;
    if (question.trim() === "" || [...question].length > CONTENT_MAX) {
      throw new Failure("failed", null, { errors: [{ pointer: "#/content" }] });
    }
    if (chosen === null) {
      input.value = "";
    }
    const asked = this.#question(question);
    const growing = this.#turn("chat-assistant", "answer growing");
    // Screen readers announce the whole answer, not each piece.
    growing.inert = true;
    talk.append(asked, growing);
    this.#running = new AbortController();
    const { signal } = this.#running;
    this.#showState();
    this.#toTop(asked);
    let shown = "";
    try {
      const reply = await this.#ask(question, signal, (text) => {
        shown = text;
        growing.lastElementChild.replaceChildren(...this.#blocks(text));
      });
      growing.replaceWith(this.#answer(reply));
      this.#toTop(asked);
      this.#keep([...this.#messages, { role: "user", content: question }, { role: "assistant", content: reply }]);
      this.#form.say("");
    } catch (failure) {
      if (shown) {
        // As a new turn: screen readers skip text that merely becomes active.
        growing.replaceWith(this.#answer(`${shown} …`));
      } else {
        growing.remove();
        // Put the question back, unless the visitor is already typing the next one.
        if (input.value === "") {
          input.value = question;
          asked.remove();
        }
      }
      if (!signal.aborted) {
        throw failure;
      }
      this.#form.say("");
      this.#peek();
    } finally {
      this.#running = null;
      const hadFocus = this.shadowRoot.activeElement === stop;
      this.#showState();
      if (hadFocus) {
        input.focus();
      }
    }
  }
}

define("landing-chat", LandingChat);
