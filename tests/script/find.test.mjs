import assert from "node:assert/strict";
import test from "node:test";

import { find, marked, snippet } from "../../data/script/find.js";

const ENTRIES = [
  { title: "Stay within the rate limits", path: "/docs#stay-within-the-rate-limits", text: "How many requests. A key counts on its own." },
  { title: "Get a free API key", path: "/docs#key", hints: "credentials, lost", text: "A key costs nothing." },
  { title: "Issue an API key", path: "/docs/reference#operation/issueKey", text: "POST /api/v1/keys" },
];
const paths = (query) => find(ENTRIES, query).map(({ path }) => path);

test("every word has to be there, and a title counts more", () => {
  assert.deepEqual(paths("key"), ["/docs#key", "/docs/reference#operation/issueKey", "/docs#stay-within-the-rate-limits"]);
  assert.deepEqual(paths("KEY requests"), ["/docs#stay-within-the-rate-limits"]);
  assert.deepEqual(paths("v1/keys"), ["/docs/reference#operation/issueKey"]);
  assert.deepEqual(paths("lost key"), ["/docs#key"]);
});

test("nothing is found by nothing", () => {
  for (const query of ["", "  ", "/", "unicorn", "key unicorn"]) {
    assert.deepEqual(paths(query), [], query);
  }
});

test("a result shows the sentence with the word", () => {
  const text = "A key costs nothing. Send it as a header: the limits are then your own. Keep it safe.";
  assert.equal(snippet(text, "header"), "Send it as a header: the limits are then your own. Keep it safe.");
  assert.equal(snippet(text, "KEY costs"), "A key costs nothing. Send it as a header: the limits are then your own. Keep it safe.");
  assert.equal(snippet(text, "limits"), snippet(text, "header"));
  assert.equal(snippet(text, "lost header"), snippet(text, "header"));
  assert.equal(snippet(text, "lost"), "A key costs nothing. Send it as a header: the limits are then your own. Keep it safe.");
  const long = `${"word ".repeat(40)}needle ${"word ".repeat(40)}`;
  assert.match(snippet(long, "needle"), /^… .*needle.* …$/);
  assert.ok(snippet(long, "needle").length < 130);
});

test("the words of the query are marked", () => {
  assert.deepEqual(marked("A key, two Keys", "key"), ["A ", "key", ", two ", "Key", "s"]);
  assert.deepEqual(marked("keys", "key keys"), ["", "keys", ""]);
  assert.deepEqual(marked("a.b", "."), ["a.b"]);
});
