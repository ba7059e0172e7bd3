// Calls of the API, and their failures.

import { EventReader } from "./events.js";
import { waitOf } from "./time.js";

/** Slightly more than the service's own deadlines for body and handler together. */
const ANSWER_SECONDS = 45;
const CHAT_ANSWER_SECONDS = 345;
/** A stream sends something every 15 seconds. */
const SILENCE_SECONDS = 40;

/**
 * A failed call. `kind` is `lost` (no response), `broken` (the response was cut off), `stopped`, or `failed`
 * (an error status of the service or of a proxy).
 */
export class Failure extends Error {
  constructor(kind = "failed", answer = null, problem = null) {
    super(kind);
    this.kind = kind;
    this.answer = answer;
    /** RFC 9457, if the body was one. */
    this.problem = problem;
    this.errors = Array.isArray(problem?.errors) ? problem.errors : [];
    const header = (name) => answer?.headers.get(name);
    this.waitSeconds = waitOf(header("Retry-After"), header("Date"));
  }
}

const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    throw new Failure();
  }
};

/**
 * Sends a request and returns the result of `read` for a successful response; `read` also gets a function that
 * waits for its parts. Aborted after that much silence, or by `stopped`. Cookies are only sent if the
 * call asks for it.
 */
const exchange = async (url, { seconds = ANSWER_SECONDS, stopped, ...request }, read) => {
  const controller = new AbortController();
  const { signal } = controller;
  const giveUp = (kind) => controller.abort(new Failure(kind));
  stopped?.addEventListener("abort", () => giveUp("stopped"));
  let timer = 0;
  const hear = async (promise, kind = "lost", longest = seconds) => {
    clearTimeout(timer);
    timer = setTimeout(giveUp, longest * 1000, "lost");
    try {
      return await promise;
    } catch {
      throw signal.aborted ? signal.reason : new Failure(kind);
    } finally {
      clearTimeout(timer);
    }
  };
  const answer = await hear(fetch(url, { cache: "no-store", credentials: "omit", ...request, signal }));
  if (answer.ok) {
    return read(answer, hear);
  }
  const text = await hear(answer.text());
  const isProblem = answer.headers.get("Content-Type")?.startsWith("application/problem+json");
  throw new Failure("failed", answer, isProblem ? parsed(text) : null);
};

const readJson = async (answer, hear) => ({ answer, value: parsed(await hear(answer.text())) });

const ofJson = (body, accept, headers) => ({
  method: "POST",
  headers: { "Content-Type": "application/json", Accept: accept, ...headers },
  body: JSON.stringify(body),
});

/** The response and its JSON value. */
export const post = (url, body) => exchange(url, ofJson(body, "application/json"), readJson);

/** True if the service responds at all: any page may request a document, but not call the API. */
export const isThere = async (base) => {
  try {
    return await exchange(`${base}/embed.js`, { method: "HEAD" }, (answer) => answer.ok);
  } catch {
    return false;
  }
};

/** The events of a response, as they arrive. */
const events = async function* (answer, hear) {
  const stream = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  const reader = new EventReader();
  try {
    for (;;) {
      const { done, value } = await hear(stream.read(), "broken", SILENCE_SECONDS);
      if (done) {
        return;
      }
      yield* reader.read(value);
    }
  } finally {
    stream.cancel().catch(() => {});
  }
};

const chatUrl = (base) => `${base}/api/v1/assistant/chat`;

/** The response whose headers show the messages left. The cookie identifies the visitor. */
export const quota = async (base) =>
  (await exchange(chatUrl(base), { credentials: "include" }, readJson)).answer;

/**
 * Sends `messages` to the assistant and returns the complete answer. `begun` gets the response once its
 * headers are there, `grown` each piece of the text.
 */
export const converse = (base, messages, { language, stopped, begun, grown }) => {
  const request = {
    ...ofJson({ messages }, "text/event-stream", { "Accept-Language": language }),
    credentials: "include",
    seconds: CHAT_ANSWER_SECONDS,
    stopped,
  };
  return exchange(chatUrl(base), request, async (answer, hear) => {
    begun(answer);
    for await (const { name, data } of events(answer, hear)) {
      // The API may add other events later.
      if (name === "delta") {
        grown(String(parsed(data)?.text ?? ""));
      } else if (name === "message") {
        return String(parsed(data)?.message ?? "");
      } else if (name === "problem") {
        throw new Failure("failed", null, parsed(data));
      }
    }
    throw new Failure("broken");
  });
};
