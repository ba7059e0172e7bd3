import assert from "node:assert/strict";
import test from "node:test";

import { find } from "../../data/script/find.js";

const ENTRIES = [
  { title: "Rate limits", path: "/docs#rate-limits", text: "How many requests. A key counts on its own." },
  { title: "Getting a free API key", path: "/docs#key", text: "A key costs nothing." },
  { title: "Issue an API key", path: "/docs/reference#operation/issueKey", text: "POST /api/v1/keys" },
];
const paths = (query) => find(ENTRIES, query).map(({ path }) => path);

test("every word has to be there, and a title counts more", () => {
  assert.deepEqual(paths("key"), ["/docs#key", "/docs/reference#operation/issueKey", "/docs#rate-limits"]);
  assert.deepEqual(paths("KEY requests"), ["/docs#rate-limits"]);
  assert.deepEqual(paths("v1/keys"), ["/docs/reference#operation/issueKey"]);
});

test("nothing is found by nothing", () => {
  for (const query of ["", "  ", "/", "unicorn", "key unicorn"]) {
    assert.deepEqual(paths(query), [], query);
  }
});
