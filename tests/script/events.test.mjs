// The reader of server-sent events, on what the HTML standard says of them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { EventReader } from "../../data/embed/events.js";

/** The events of a text that comes in `pieces`, as `name=data`. */
const read = (...pieces) => {
  const reader = new EventReader();
  const events = pieces.flatMap((piece) => [...reader.read(piece)]);
  return events.map(({ name, data }) => `${name}=${data}`);
};

test("an event has a name and data", () => {
  assert.deepEqual(read("event: delta\ndata: {}\n\n"), ["delta={}"]);
  assert.deepEqual(read("data: x\n\n"), ["message=x"]);
  assert.deepEqual(read("data: y\nevent: delta\n\n"), ["delta=y"]);
});

test("separators that end no line of a stream are part of the data", () => {
  for (const separator of ["\u2028", "\u2029", "\u0085", "\v", "\f"]) {
    assert.deepEqual(read(`event: message\ndata: a${separator}b\n\n`), [`message=a${separator}b`]);
    assert.deepEqual(read(`event: a${separator}b\ndata: c\n\n`), [`a${separator}b=c`]);
  }
});

test("lines end in a feed, a return, or both", () => {
  for (const end of ["\n", "\r", "\r\n"]) {
    const text = ["event: delta", "data: a", "", "data: b", "", ""].join(end);
    assert.deepEqual(read(text), ["delta=a", "message=b"]);
    // However it comes apart.
    assert.deepEqual(read(...text), ["delta=a", "message=b"]);
    assert.deepEqual(read(...[...text].flatMap((c) => [c, ""])), ["delta=a", "message=b"]);
  }
});

test("several lines of data are one text", () => {
  assert.deepEqual(read("data: a\ndata:\ndata: b\n\n"), ["message=a\n\nb"]);
  assert.deepEqual(read("data\n\n"), ["message="]);
});

test("one space after the colon is no part of the value", () => {
  assert.deepEqual(read("data:a\n\n"), ["message=a"]);
  assert.deepEqual(read("data:  a \n\n"), ["message= a "]);
  assert.deepEqual(read("data: a: b\n\n"), ["message=a: b"]);
});

test("comments and other fields are passed over", () => {
  assert.deepEqual(read(": hello\nevent: delta\n:\nid: 7\nretry: 5\nDATA: no\ndata: a\n\n"), ["delta=a"]);
  assert.deepEqual(read(":\n\n: ping\n\n"), []);
});

test("what has no data or no end is no event, and leaves nothing to the next", () => {
  assert.deepEqual(read("event: delta\n\ndata: a\n\n"), ["message=a"]);
  assert.deepEqual(read("event: delta\ndata: a\n"), []);
  assert.deepEqual(read("event: delta\ndata: a"), []);
  assert.deepEqual(read(""), []);
});
