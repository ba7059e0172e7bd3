// The assistant: a conversation, and how much of it is left.

import { Form } from "./form.js";
import { element, part } from "./page.js";
import { converse, get } from "./request.js";
import { duration, stopwatch } from "./time.js";

const CHAT = "/api/v1/assistant/chat";

/** `text` with links where it names pages at one of `origins`, and nowhere else. */
const withLinks = (text, origins) =>
  text.split(/(https?:\/\/[^\s<>"']*[^\s<>"'.,;:!?)])/).map((piece) => {
    if (!origins.some((origin) => piece.startsWith(`${origin}/`))) {
      return piece;
    }
    const link = element("a", piece);
    link.href = piece;
    return link;
  });

/** `text` as paragraphs and blocks of code. */
const blocksOf = (text, origins = []) =>
  text.split(/\n{2,}/).map((block) => {
    const isCode = block.split("\n").every((line) => line.startsWith("    "));
    if (isCode) {
      return element("pre", block.replace(/^ {4}/gm, ""));
    }
    const paragraph = element("p");
    paragraph.append(...withLinks(block, origins));
    return paragraph;
  });

/** Something that one of the two said, with a note about it. */
const turnOf = (who, className, blocks = [], note = "") => {
  const turn = element("div", "", `turn ${className}`);
  const text = element("div", "", "text");
  text.append(...blocks);
  turn.append(element("p", who, "who"), text);
  if (note) {
    turn.append(element("p", note, "hint"));
  }
  return turn;
};

/** Says in `place` how many messages are left, as the headers of an answer tell it. */
class Left {
  #place;
  /** Another one each time something else is said. */
  #said = {};

  constructor(place) {
    this.#place = place;
  }

  async peek() {
    try {
      this.show((await get(CHAT)).answer);
    } catch {
      this.#say("How many messages are left could not be found out.");
    }
  }

  show(answer) {
    const quota = /^"assistant";r=(\d+);t=(\d+)/.exec(answer?.headers.get("RateLimit") ?? "");
    if (!quota) {
      return;
    }
    const [left, seconds] = [quota[1], Number(quota[2])];
    if (left === "0") {
      this.#countDown(seconds);
    } else {
      this.#say(`${left} of ${answer.headers.get("RateLimit-Limit")} messages left`);
    }
  }

  #say(words) {
    this.#said = {};
    this.#place.textContent = words;
  }

  #countDown(seconds) {
    const passed = stopwatch();
    this.#say("");
    const said = this.#said;
    const tick = () => {
      const left = Math.ceil(seconds - passed());
      if (this.#said !== said) {
        return;
      }
      if (left <= 0) {
        this.peek();
        return;
      }
      this.#place.textContent = `No messages left. The next one is free in ${duration(left)}.`;
      setTimeout(tick, 1000);
    };
    tick();
  }
}

/** Sends with Enter and stops with Escape; presses of a button put its words into `input`. */
const addShortcuts = (root, input, isRunning, stop) => {
  stop.addEventListener("click", () => input.focus());
  root.parentElement.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && isRunning()) {
      stop.click();
    }
  });
  input.addEventListener("keydown", (event) => {
    // While a letter is being composed, Enter chooses it. Safari tells so by the code alone.
    const isComposing = event.isComposing || event.keyCode === 229;
    if (event.key === "Enter" && !event.shiftKey && !isComposing) {
      event.preventDefault();
      root.requestSubmit();
    }
  });
  const suggestions = [...root.querySelectorAll(".suggestions button")];
  const isSuggestion = (text) => suggestions.some((other) => other.textContent === text);
  for (const suggestion of suggestions) {
    suggestion.addEventListener("click", () => {
      const draft = input.value.trimEnd();
      const isOwn = draft !== "" && !isSuggestion(draft);
      input.value = isOwn ? `${draft}\n${suggestion.textContent}` : suggestion.textContent;
      input.focus();
    });
  }
};

export const assistant = (root) => {
  const form = new Form(root);
  const talk = part(root.parentElement, ".talk");
  const stop = part(root, ".stop");
  const input = root.elements.content;
  const place = root.querySelector(".left");
  // Where no policy counts messages there is nothing to say of it.
  const left = place && new Left(place);
  const { baseUrl, messagesMax, contentMax } = root.dataset;
  const origins = [baseUrl, location.origin];
  const history = [];
  let running = null;

  /** Answers are read from their beginning, with the question above. */
  const toTop = (turn) => {
    talk.scrollTop = turn.offsetTop - talk.offsetTop;
  };

  const remember = (role, content) => {
    // An answer may be longer than what a request may hold.
    history.push({ role, content: [...content].slice(0, contentMax).join("") });
  };

  /** Asks, and gives the answer's text; `grown` is told all there is of it, again and again. */
  const ask = async (question, stopped, grown) => {
    const messages = [...history, { role: "user", content: question }].slice(-messagesMax);
    let shown = "";
    try {
      return await converse(messages, {
        stopped,
        begun: (answer) => left?.show(answer),
        grown: (piece) => grown((shown += piece)),
      });
    } catch (failure) {
      left?.show(failure.answer);
      throw failure;
    }
  };

  /** Puts a question that had no answer back, unless the visitor is at the next one already. */
  const giveBack = (question, asked) => {
    if (input.value === "") {
      input.value = question;
      asked.remove();
    } else {
      asked.append(element("p", "Not answered.", "hint"));
    }
    talk.toggleAttribute("tabindex", talk.hasChildNodes());
  };

  const submit = async () => {
    const question = input.value;
    if (question.trim() === "") {
      // The service says what is wrong with that; there is nothing to show.
      await ask("", null, () => {});
      return;
    }
    const asked = turnOf("You", "question", blocksOf(question, origins));
    const growing = turnOf("Assistant", "answer growing");
    // Nobody wants to hear it piece by piece: the whole is read when it is there.
    growing.setAttribute("aria-hidden", "true");
    talk.append(asked, growing);
    talk.tabIndex = 0;
    toTop(asked);
    input.value = "";
    running = new AbortController();
    const { signal } = running;
    stop.hidden = false;
    let shown = "";
    try {
      const reply = await ask(question, signal, (text) => {
        shown = text;
        growing.lastElementChild.replaceChildren(...blocksOf(text));
      });
      growing.replaceWith(turnOf("Assistant", "answer", blocksOf(reply, origins)));
      toTop(asked);
      remember("user", question);
      remember("assistant", reply);
      form.say("");
    } catch (failure) {
      if (shown) {
        // As a turn of its own: what only comes to light is not read out.
        growing.replaceWith(turnOf("Assistant", "answer", blocksOf(shown, origins), "The rest is missing."));
      } else {
        growing.remove();
        giveBack(question, asked);
      }
      if (!signal.aborted) {
        throw failure;
      }
      form.say("Stopped.");
      left?.peek();
    } finally {
      running = null;
      if (document.activeElement === stop) {
        input.focus();
      }
      stop.hidden = true;
    }
  };

  form.onSubmit(submit, { after: () => left?.peek() });
  stop.addEventListener("click", () => running?.abort());
  addShortcuts(root, input, () => Boolean(running), stop);
  left?.peek();
};
