// Calls of the API, and what can go wrong with them.

import { EventReader } from "./events.js";
import { waitOf } from "./time.js";

/** A little longer than the service takes for an answer at most, its reading of the body included. */
const ANSWER_SECONDS = 45;
const CHAT_ANSWER_SECONDS = 345;
/** A stream sends something every 15 seconds. */
const SILENCE_SECONDS = 40;

/**
 * What went wrong. `kind` is `lost` (nobody answered), `broken` (an answer broke off), `stopped`, or
 * `failed`: the service, or something before it, said no.
 */
export class Failure extends Error {
  constructor(kind = "failed", answer = null, problem = null) {
    super(kind);
    this.kind = kind;
    this.answer = answer;
    /** The problem (RFC 9457), if it is one. */
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
 * Asks, and gives what `read` makes of a good answer, with a function that hears what comes of it. It is
 * given up when nothing was heard for so long, or when `stopped` says so. No cookie goes along unless
 * the call says so.
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

/** The answer and, beside it, the JSON value that it holds. */
export const post = (url, body) => exchange(url, ofJson(body, "application/json"), readJson);

/** Whether the service answers at all: any page may ask for a document, but not for the API. */
export const isThere = async (base) => {
  try {
    return await exchange(`${base}/embed.js`, { method: "HEAD" }, (answer) => answer.ok);
  } catch {
    return false;
  }
};

/** The events of an answer, as they come. */
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

/** The answer that tells how many messages the visitor has left: the cookie knows who that is. */
export const quota = async (base) =>
  (await exchange(chatUrl(base), { credentials: "include" }, readJson)).answer;

/**
 * Sends `messages` to the assistant, and gives its answer whole. `begun` is told of the answer as
 * soon as it begins, `grown` of each piece of its text.
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
      // Other kinds of events may be added to the API one day.
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
