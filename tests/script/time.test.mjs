// How long one has to wait, and how that is said.

import assert from "node:assert/strict";
import { test } from "node:test";

import { duration, stopwatch, waitOf } from "../../data/script/time.js";

const YEAR = 366 * 24 * 3600;
const NOON = "Sat, 21 Nov 2026 12:00:00 GMT";

test("a duration is said in its largest unit and the next", () => {
  for (const [seconds, words] of [
    [0, "0 s"],
    [1, "1 s"],
    [60, "1 min"],
    [61, "1 min 1 s"],
    [3599, "59 min 59 s"],
    [3600, "1 h"],
    [3601, "1 h"],
    [86399, "23 h 59 min"],
    [86400, "1 day"],
    [90000, "1 day 1 h"],
    [2 * 86400 + 3600, "2 days 1 h"],
    [YEAR, "366 days"],
  ]) {
    assert.equal(duration(seconds), words);
  }
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
