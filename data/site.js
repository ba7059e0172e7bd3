// What the forms of the pages do. Where this script does not run they are not shown, and the page
// tells in their place how to do the same from a terminal.
//
// Whatever comes from outside is put into the page as text. The policy of the page (Trusted Types)
// would stop it otherwise.
"use strict";

(() => {
  const LOST =
    "The service could not be reached, or the connection broke. Check your connection, then try again.";
  const UNREADABLE = "The service gave an answer that this page does not understand. Try again later.";
  const BROKEN_OFF = "The answer broke off before its end. Send the question again if you still need it.";

  // Before the page is painted, so that nothing moves afterwards.
  document.documentElement.classList.add("scripted");

  /** What went wrong, in words for people. */
  class Failure extends Error {
    constructor(words, answer = null, problem = {}) {
      super(words);
      this.answer = answer;
      this.errors = problem.errors ?? [];
      this.waitSeconds = Number(answer?.headers.get("Retry-After") ?? 0);
    }

    /** A problem (RFC 9457): what happened, and what to do. */
    static ofProblem(problem, answer = null) {
      const words = [problem.detail ?? problem.title, problem.resolution];
      return new Failure(words.filter(Boolean).join(" ") || UNREADABLE, answer, problem);
    }

    static async ofAnswer(answer) {
      const isProblem = answer.headers.get("Content-Type")?.startsWith("application/problem+json");
      // Something between here and the service may answer in its place.
      const other = `The service could not answer (status ${answer.status}). Try again later.`;
      return isProblem
        ? Failure.ofProblem(await readJson(answer), answer)
        : new Failure(other, answer);
    }
  }

  /** Sends a request and gives the answer, if it is a good one. */
  const ask = async (path, options = {}) => {
    let answer;
    try {
      answer = await fetch(path, { cache: "no-store", ...options });
    } catch (error) {
      throw options.signal?.aborted ? error : new Failure(LOST);
    }
    if (!answer.ok) {
      throw await Failure.ofAnswer(answer);
    }
    return answer;
  };

  const post = (path, body, accept = "application/json", signal = null) =>
    ask(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: accept },
      body: JSON.stringify(body),
      signal,
    });

  const readJson = async (answer) => {
    try {
      return await answer.json();
    } catch (error) {
      throw new Failure(error instanceof SyntaxError ? UNREADABLE : LOST);
    }
  };

  const element = (name, text = "", className = "") => {
    const made = document.createElement(name);
    made.textContent = text;
    made.className = className;
    return made;
  };

  /** A length of time as one reads it from a clock. */
  const duration = (seconds) => {
    const parts = [
      [Math.floor(seconds / 3600), "h"],
      [Math.floor(seconds / 60) % 60, "min"],
      [seconds % 60, "s"],
    ];
    const first = parts.findIndex(([number]) => number > 0);
    const shown = parts.slice(first, first + 2).filter(([number]) => number > 0);
    return shown.map(([number, unit]) => `${number} ${unit}`).join(" ");
  };

  // Forms

  const say = (form, words, kind = "") => {
    const status = form.querySelector(".status");
    status.replaceChildren(...(words ? [element("p", words, kind)] : []));
  };

  const submitButton = (form) => form.querySelector("[type=submit]");

  /** Holds a form back, or lets it go. Its button keeps the focus, so it is never really disabled. */
  const hold = (form, isHeld) => {
    submitButton(form).setAttribute("aria-disabled", String(isHeld));
  };

  const isHeld = (form) => submitButton(form).getAttribute("aria-disabled") === "true";

  /** Holds a form back for so long, and tells how long that still is. */
  const countDown = (form, seconds, after) => {
    const place = form.querySelector(".countdown");
    const end = Date.now() + seconds * 1000;
    const tick = () => {
      const left = Math.ceil((end - Date.now()) / 1000);
      if (left > 0) {
        place.textContent = `You can try again in ${duration(left)}.`;
        setTimeout(tick, 250);
        return;
      }
      place.textContent = "";
      hold(form, false);
      say(form, "You can try again now.");
      after?.();
    };
    hold(form, true);
    tick();
  };

  const clearErrors = (form) => {
    for (const field of form.querySelectorAll("[aria-invalid]")) {
      field.removeAttribute("aria-invalid");
    }
    for (const error of form.querySelectorAll(".error[id]")) {
      error.textContent = "";
      error.hidden = true;
    }
  };

  /** Puts an error beside the field it is about; false if the form has no such field. */
  const markField = (form, { pointer, detail }) => {
    const name = pointer.split("/").pop();
    const field = form.elements.namedItem(name);
    const error = field && document.getElementById(`${field.id}-error`);
    if (!error) {
      return false;
    }
    const label = field.labels[0].firstChild.textContent.trim();
    error.textContent = `${label} ${detail}.`;
    error.hidden = false;
    field.setAttribute("aria-invalid", "true");
    return true;
  };

  const show = (form, failure, after) => {
    const elsewhere = failure.errors.filter((error) => !markField(form, error));
    const more = elsewhere.map((error) => ` ${error.pointer} ${error.detail}.`);
    say(form, failure.message + more.join(""), "error");
    form.querySelector("[aria-invalid]")?.focus();
    if (failure.waitSeconds > 0) {
      countDown(form, failure.waitSeconds, after);
    }
  };

  /** Has `submit` done whenever the form is sent, one at a time. */
  const wire = (form, submit, after) => {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (isHeld(form)) {
        return;
      }
      hold(form, true);
      clearErrors(form);
      say(form, "One moment …");
      let failure = null;
      try {
        await submit();
      } catch (error) {
        failure = error instanceof Failure ? error : new Failure(UNREADABLE);
      }
      hold(form, false);
      if (failure) {
        show(form, failure, after);
      }
    });
  };

  // Copying

  /** Tells those who cannot see it. */
  const announcer = element("p", "", "unseen");
  announcer.setAttribute("role", "status");

  const copy = async (source, button) => {
    let words = "Copied";
    try {
      // Only pages of a secure origin have a clipboard.
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      getSelection().selectAllChildren(source);
      words = "Selected: copy it by keyboard";
    }
    const label = button.dataset.label ?? button.textContent;
    button.dataset.label = label;
    button.textContent = words;
    announcer.textContent = words;
    setTimeout(() => {
      button.textContent = label;
      announcer.textContent = "";
    }, 2500);
  };

  const addCopyButton = (pre) => {
    const button = element("button", "Copy", "copy");
    button.type = "button";
    button.addEventListener("click", () => copy(pre.querySelector("code"), button));
    pre.prepend(button);
  };

  // The contents of long pages: beside the text they are open, above it whoever wants opens them

  const settleContents = (contents) => {
    const isWide = matchMedia("(min-width: 60rem)");
    const settle = () => {
      contents.open = isWide.matches;
    };
    isWide.addEventListener("change", settle);
    settle();
    contents.classList.add("settled");
  };

  // The newsletter

  const newsletter = (form) => {
    wire(form, async () => {
      const { email } = form.elements;
      const { mode, alreadyExists } = await readJson(
        await post("/api/v1/newsletter", { email: email.value }),
      );
      const done = mode === "notify" ? "has been passed on to the newsletter’s provider" : "is on the list";
      const words = alreadyExists ? "was on the list already" : done;
      say(form, `Thank you. ${email.value} ${words}.`, "good");
      form.reset();
    });
  };

  // Keys

  const key = (form) => {
    const place = form.querySelector(".key");
    const [value, button] = [place.querySelector("code"), place.querySelector("button")];
    const forget = () => {
      value.textContent = "";
      place.hidden = true;
    };
    wire(form, async () => {
      forget();
      const label = form.elements.label.value;
      const issued = await readJson(await post("/api/v1/keys", label ? { label } : {}));
      value.textContent = issued.api_key;
      const day = new Date(issued.expires_at).toLocaleDateString("en", { dateStyle: "long" });
      place.querySelector(".hint").textContent = `Good until ${day}. Send it as X-API-Key.`;
      place.hidden = false;
      say(form, "Your key is here. It is shown only this once.", "good");
    });
    button.addEventListener("click", () => copy(value, button));
    // Going back to the page does not show it again.
    addEventListener("pagehide", forget);
  };

  // The assistant

  /** The server-sent events of an answer, each with its name and data. */
  const events = async function* (answer) {
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        return;
      }
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
        if (name) {
          yield { name, data: JSON.parse(data) };
        }
      }
    }
  };

  /** `text` with links where it names pages of this service, and nowhere else. */
  const withLinks = (text, baseUrl) =>
    text.split(/(https?:\/\/[^\s<>"']*[^\s<>"'.,;:!?)])/).map((piece) => {
      if (![baseUrl, location.origin].some((origin) => piece.startsWith(`${origin}/`))) {
        return piece;
      }
      const link = element("a", piece);
      link.href = piece;
      return link;
    });

  /** `text` as paragraphs and blocks of code. */
  const blocksOf = (text, baseUrl) =>
    text.split(/\n{2,}/).map((block) => {
      const isCode = block.split("\n").every((line) => line.startsWith("    "));
      if (isCode) {
        return element("pre", block.replace(/^ {4}/gm, ""));
      }
      const paragraph = element("p");
      paragraph.append(...withLinks(block, baseUrl));
      return paragraph;
    });

  const turnOf = (who, className) => {
    const turn = element("div", "", `turn ${className}`);
    const text = element("div", "", "text");
    turn.append(element("p", who, "who"), text);
    return { turn, text };
  };

  /** Shows the quota that the headers of an answer tell, if it is the visitor's. */
  const showLeft = (place, headers) => {
    const quota = /^"assistant";r=(\d+);t=(\d+)/.exec(headers?.get("RateLimit") ?? "");
    if (!place || !quota) {
      return;
    }
    const [, left, seconds] = quota;
    place.textContent =
      left === "0"
        ? `No messages left. The next one is free in ${duration(Number(seconds))}.`
        : `${left} of ${headers.get("RateLimit-Limit")} messages left`;
  };

  const assistant = (form) => {
    const talk = form.parentElement.querySelector(".talk");
    const input = form.elements.content;
    const stop = form.querySelector(".stop");
    const left = form.querySelector(".left");
    const { baseUrl, messagesMax, contentMax } = form.dataset;
    const history = [];
    let running = null;

    const peek = async () => {
      try {
        showLeft(left, (await ask("/api/v1/assistant/chat")).headers);
      } catch {
        left.textContent = "How many messages are left could not be found out.";
      }
    };

    /** Answers are read from their beginning, with the question above. */
    const toTop = (turn) => {
      talk.scrollTop = turn.offsetTop - talk.offsetTop;
    };

    /** Shows the answer as it comes and gives all of it. */
    const receive = async (answer, text) => {
      let shown = "";
      for await (const { name, data } of events(answer)) {
        if (name === "message") {
          return data.message;
        }
        if (name === "problem") {
          throw Failure.ofProblem(data);
        }
        shown += data.text;
        text.replaceChildren(...blocksOf(shown, baseUrl));
      }
      throw new Failure(BROKEN_OFF);
    };

    /** Asks, and gives the answer's text; `text` is where it grows. */
    const converse = async (question, text) => {
      const messages = [...history, { role: "user", content: question }].slice(-messagesMax);
      let answer;
      try {
        answer = await post("/api/v1/assistant/chat", { messages }, "text/event-stream", running.signal);
        showLeft(left, answer.headers);
      } catch (failure) {
        showLeft(left, failure.answer?.headers);
        throw failure;
      }
      try {
        return await receive(answer, text);
      } catch (failure) {
        throw failure instanceof Failure || running.signal.aborted ? failure : new Failure(BROKEN_OFF);
      }
    };

    const remember = (role, content) => {
      // An answer may be longer than what a request may hold.
      history.push({ role, content: [...content].slice(0, contentMax).join("") });
    };

    const submit = async () => {
      const question = input.value;
      const asked = turnOf("You", "question");
      asked.text.replaceChildren(...blocksOf(question, baseUrl));
      const growing = turnOf("Assistant", "answer growing");
      // Nobody wants to hear it piece by piece: the whole is read when it is there.
      growing.turn.setAttribute("aria-hidden", "true");
      talk.hidden = false;
      talk.append(asked.turn, growing.turn);
      toTop(asked.turn);
      input.value = "";
      running = new AbortController();
      stop.hidden = false;
      try {
        const reply = await converse(question, growing.text);
        const answered = turnOf("Assistant", "answer");
        answered.text.replaceChildren(...blocksOf(reply, baseUrl));
        growing.turn.replaceWith(answered.turn);
        toTop(asked.turn);
        remember("user", question);
        remember("assistant", reply);
        say(form, "");
      } catch (failure) {
        const hasBegun = growing.text.hasChildNodes();
        if (hasBegun) {
          growing.turn.classList.remove("growing");
          growing.turn.removeAttribute("aria-hidden");
        } else {
          growing.turn.remove();
          asked.turn.remove();
          talk.hidden = !talk.hasChildNodes();
          input.value ||= question;
        }
        if (!running.signal.aborted) {
          throw failure;
        }
        say(form, "Stopped.");
        if (left) {
          peek();
        }
      } finally {
        stop.hidden = true;
        running = null;
      }
    };

    wire(form, submit, left ? peek : null);
    stop.addEventListener("click", () => {
      running?.abort();
      input.focus();
    });
    form.parentElement.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && running) {
        running.abort();
      }
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        form.requestSubmit();
      }
    });
    for (const suggestion of form.querySelectorAll(".suggestions button")) {
      suggestion.addEventListener("click", () => {
        input.value = suggestion.textContent;
        input.focus();
      });
    }
    if (left) {
      peek();
    }
  };

  // The sandbox

  const echo = (form) => {
    const output = form.querySelector("output");
    wire(form, async () => {
      const { message, echo_headers: echoHeaders } = form.elements;
      output.hidden = true;
      const body = { message: message.value, echo_headers: echoHeaders.checked };
      const answer = await post("/api/v1/sandbox/echo", body);
      const text = JSON.stringify(await readJson(answer), null, 2);
      output.textContent = `HTTP ${answer.status}\nRateLimit: ${answer.headers.get("RateLimit")}\n\n${text}`;
      output.hidden = false;
      say(form, "The answer is below.", "good");
    });
  };

  document.addEventListener("DOMContentLoaded", () => {
    document.body.append(announcer);
    document.querySelectorAll(".contents").forEach(settleContents);
    document.querySelectorAll("main pre:has(> code)").forEach(addCopyButton);
    const forms = { newsletter, key, assistant, echo };
    for (const form of document.querySelectorAll("form[data-form]")) {
      forms[form.dataset.form](form);
    }
  });
})();
