// How long one has to wait, and how that is said.

import assert from "node:assert/strict";
import { test } from "node:test";

import { countDown, stopwatch, waitOf, whenOf } from "../../data/embed/time.js";

const YEAR = 366 * 24 * 3600;
const NOON = "Sat, 21 Nov 2026 12:00:00 GMT";

test("a wait is said in one unit, rounded up", () => {
  for (const [seconds, words] of [
    [1, "in 1 second"],
    [59, "in 59 seconds"],
    [59.2, "in 1 minute"],
    [60, "in 1 minute"],
    [61, "in 2 minutes"],
    [840, "in 14 minutes"],
    [3600, "in 1 hour"],
    [3601, "in 2 hours"],
    [86400, "in 24 hours"],
    [86401, "in 2 days"],
    [YEAR, "in 366 days"],
  ]) {
    assert.equal(whenOf(seconds, "en"), words);
  }
});

test("a wait is said in the language of the page", () => {
  for (const [language, words] of [
    ["de", ["in 1 Minute", "in 2 Tagen"]],
    ["fr", ["dans 1 minute", "dans 2 jours"]],
    ["es", ["dentro de 1 minuto", "dentro de 2 días"]],
  ]) {
    assert.deepEqual([60, 2 * 86400].map((seconds) => whenOf(seconds, language)), words);
  }
});

test("a countdown tells what is left, and ends once", async () => {
  const told = [];
  await new Promise((done) => countDown(1, (left) => told.push(left), done));
  assert.equal(told[0], 1);
  assert.ok(told.every((left) => left === 1));
  await new Promise((done) => countDown(0, () => assert.fail("there is nothing left"), done));
});

test("a wait is told in seconds or as a date", () => {
  for (const [header, seconds] of [
    ["1", 1],
    [" 60 ", 60],
    ["Sat, 21 Nov 2026 12:01:30 GMT", 90],
    ["Saturday, 21-Nov-26 12:00:01 GMT", 1],
  ]) {
    assert.equal(waitOf(header, NOON), seconds, header);
  }
});

test("a date is measured by the clock that made it, else by ours", () => {
  const wrong = Date.parse("Sat, 21 Nov 2026 18:00:00 GMT");
  const date = "Sat, 21 Nov 2026 18:00:10 GMT";
  assert.equal(waitOf(date, "Sat, 21 Nov 2026 18:00:08 GMT", wrong), 2);
  assert.equal(waitOf(date, null, wrong), 10);
  assert.equal(waitOf(date, "yesterday", wrong), 10);
});

test("what makes no sense asks for nothing", () => {
  for (const header of [null, undefined, "", "0", "-5", "1.5", "1e3", "soon", "5 s", NOON, "x GMT", "Fri, 20 Nov 2026 12:00:00 GMT"]) {
    assert.equal(waitOf(header, NOON), 0, header);
  }
});

test("no wait is longer than the longest window", () => {
  for (const header of [String(YEAR + 1), "9".repeat(400), "Sat, 21 Nov 9026 12:00:00 GMT"]) {
    assert.equal(waitOf(header, NOON), YEAR, header);
  }
});

test("a clock that stands still or is set back holds nobody up", () => {
  let [steady, wall] = [0, 1_000_000];
  const passed = stopwatch([() => steady, () => wall]);
  assert.equal(passed(), 0);
  [steady, wall] = [2000, 1_002_000];
  assert.equal(passed(), 2);
  // Set back by an hour.
  [steady, wall] = [3000, 1_003_000 - 3_600_000];
  assert.equal(passed(), 3);
  // Asleep for a minute.
  [steady, wall] = [3000, 1_063_000];
  assert.equal(passed(), 63);
});
