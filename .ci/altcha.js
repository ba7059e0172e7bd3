// ALTCHA's own widget, on a page of another origin, gets a challenge from the service, solves it, and the
// form that many have sent before is taken. The service is at BASE_URL, the browser at CHROMIUM.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";

const require = createRequire(new URL("../target/ci/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const widget = readFileSync(require.resolve("altcha").replace(/[^/]+$/, "altcha.js"));

const service = process.env.BASE_URL;
const FLAGS = readFileSync(new URL("chromium-flags", import.meta.url), "utf8").trim().split("\n");
/** The default of the limit newsletter-form. */
const TAKEN = 3;

const signUp = (name) =>
  fetch(`${service}/newsletter`, {
    method: "POST",
    body: new URLSearchParams({ email: `${name}@example.com` }),
    redirect: "manual",
  });

for (let number = 0; number < TAKEN; number += 1) {
  assert.equal((await signUp(`early-${number}`)).status, 303);
}
assert.equal((await signUp("late")).status, 403);

const page = `<!DOCTYPE html><html lang="en"><title>A page of another origin</title>
<script type="module" src="/altcha.js"></script>
<form method="post" action="${service}/newsletter">
<input name="email" value="late@example.com">
<altcha-widget challenge="${service}/newsletter/challenge"></altcha-widget>
<button>Sign up</button>
</form></html>`;
const server = createServer((request, response) => {
  const [type, body] = request.url === "/altcha.js" ? ["text/javascript", widget] : ["text/html", page];
  response.writeHead(200, { "Content-Type": type }).end(body);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });
try {
  const visitor = await browser.newPage();
  await visitor.goto(`http://127.0.0.1:${server.address().port}/`);
  await visitor.press("altcha-widget input[type=checkbox]", "Space");
  await visitor.waitForFunction(() => document.querySelector("[name=altcha]")?.value);
  const payload = JSON.parse(atob(await visitor.inputValue("[name=altcha]")));
  console.log(`ALTCHA: solved in ${Math.round(payload.took)} ms, the number is ${payload.number}`);
  await visitor.click("button:text('Sign up')");
  await visitor.waitForURL(`${service}/newsletter/thanks?lang=en`);
} finally {
  await browser.close();
  server.close();
}
