// Calls of the API, and what is said when they fail.

import { EventReader } from "./events.js";
import { waitOf } from "./time.js";

const LOST =
  "The service could not be reached, or the connection broke. Check your connection, then try again.";
const UNREADABLE = "The service gave an answer that this page does not understand. Try again later.";
const BROKEN_OFF = "The answer broke off before its end. Send the question again if you still need it.";
const SILENT = "The service has not answered in time. Check your connection, then try again.";

/** A little longer than the service takes for an answer at most, its reading of the body included. */
const ANSWER_SECONDS = 45;
const CHAT_ANSWER_SECONDS = 345;
/** A stream sends something every 15 seconds. */
const SILENCE_SECONDS = 40;

/** What went wrong, in words for people. */
export class Failure extends Error {
  constructor(words = UNREADABLE, answer = null, problem = {}) {
    super(words);
    this.answer = answer;
    const { errors, "violated-policies": policies } = problem;
    this.errors = Array.isArray(errors) ? errors : [];
    this.policies = Array.isArray(policies) ? policies : [];
    const header = (name) => answer?.headers.get(name);
    this.waitSeconds = waitOf(header("Retry-After"), header("Date"));
  }

  /** A problem (RFC 9457): what happened, and what to do. */
  static ofProblem(problem, answer = null) {
    const words = [problem?.detail ?? problem?.title, problem?.resolution];
    return new Failure(words.filter(Boolean).join(" ") || UNREADABLE, answer, problem ?? {});
  }

  static ofAnswer(answer, text) {
    if (answer.headers.get("Content-Type")?.startsWith("application/problem+json")) {
      return Failure.ofProblem(parsed(text), answer);
    }
    // Something between here and the service may answer in its place.
    const words = `The service could not answer (status ${answer.status}). Try again later.`;
    return new Failure(words, answer);
  }
}

const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    throw new Failure(UNREADABLE);
  }
};

/** Gives an exchange up when nothing was heard for too long, or when `stopped` says so. */
class Patience {
  #controller = new AbortController();
  #timer = 0;

  constructor(stopped) {
    stopped?.addEventListener("abort", () => this.#controller.abort(new Failure("Stopped.")));
  }

  get signal() {
    return this.#controller.signal;
  }

  /** From now on, so long. */
  last(seconds) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#controller.abort(new Failure(SILENT)), seconds * 1000);
  }

  end() {
    clearTimeout(this.#timer);
  }

  /** What `promise` gives; if it fails, why. */
  async hear(promise, words = LOST) {
    try {
      return await promise;
    } catch {
      throw this.signal.aborted ? this.signal.reason : new Failure(words);
    }
  }
}

/** Asks, and gives what `read` makes of a good answer. */
const exchange = async (path, { seconds = ANSWER_SECONDS, stopped = null, ...request }, read) => {
  const patience = new Patience(stopped);
  patience.last(seconds);
  try {
    const { signal } = patience;
    const answer = await patience.hear(fetch(path, { cache: "no-store", ...request, signal }));
    if (!answer.ok) {
      throw Failure.ofAnswer(answer, await patience.hear(answer.text()));
    }
    return await read(answer, patience);
  } finally {
    patience.end();
  }
};

const readJson = async (answer, patience) => ({
  answer,
  value: parsed(await patience.hear(answer.text())),
});

const ofJson = (body, accept) => ({
  method: "POST",
  headers: { "Content-Type": "application/json", Accept: accept },
  body: JSON.stringify(body),
});

/** The answer and, beside it, the JSON value that it holds. */
export const get = (path) => exchange(path, {}, readJson);

/** The same for a call with a body. */
export const post = (path, body) => exchange(path, ofJson(body, "application/json"), readJson);

/** The events of an answer, as they come. */
const events = async function* (answer, patience) {
  const stream = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  const reader = new EventReader();
  try {
    for (;;) {
      patience.last(SILENCE_SECONDS);
      const { done, value } = await patience.hear(stream.read(), BROKEN_OFF);
      if (done) {
        return;
      }
      yield* reader.read(value);
    }
  } finally {
    stream.cancel().catch(() => {});
  }
};

/**
 * Sends `messages` to the assistant, and gives its answer whole. `begun` is told of the answer as
 * soon as it begins, `grown` of each piece of its text.
 */
export const converse = (messages, { stopped, begun, grown }) => {
  const request = { ...ofJson({ messages }, "text/event-stream"), seconds: CHAT_ANSWER_SECONDS, stopped };
  return exchange("/api/v1/assistant/chat", request, async (answer, patience) => {
    begun(answer);
    for await (const { name, data } of events(answer, patience)) {
      // Other kinds of events may be added to the API one day.
      if (name === "delta") {
        grown(String(parsed(data)?.text ?? ""));
      } else if (name === "message") {
        return String(parsed(data)?.message ?? "");
      } else if (name === "problem") {
        throw Failure.ofProblem(parsed(data));
      }
    }
    throw new Failure(BROKEN_OFF);
  });
};
