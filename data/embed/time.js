// Durations and waiting times.

/** The longest window of a limit, in seconds; longer waits are errors. */
const WAIT_SECONDS_MAX = 366 * 24 * 3600;

/** Units, each with the seconds from which it is used, and its length. */
const UNITS = [
  [24 * 3600, 24 * 3600, "day"],
  [59 * 60, 3600, "hour"],
  [59, 60, "minute"],
  [0, 1, "second"],
];

/** The time `seconds` from now in words, such as "in 14 minutes". */
export const whenOf = (seconds, language) => {
  const [, length, unit] = UNITS.find(([above]) => seconds > above) ?? UNITS.at(-1);
  return new Intl.RelativeTimeFormat(language).format(Math.ceil(seconds / length), unit);
};

/**
 * The seconds of a `Retry-After`, which may also be a date (RFC 9110, section 10.2.3); 0 if it is absent or
 * invalid. `date` is the `Date` of the same response: the clock here may be wrong.
 */
export const waitOf = (retryAfter, date, now = Date.now()) => {
  const text = (retryAfter ?? "").trim();
  let seconds = 0;
  if (/^\d+$/.test(text)) {
    seconds = Number(text);
  } else if (text.endsWith(" GMT")) {
    seconds = Math.ceil((Date.parse(text) - (Date.parse(date ?? "") || now)) / 1000);
  }
  return seconds > 0 ? Math.min(seconds, WAIT_SECONDS_MAX) : 0;
};

const CLOCKS = [() => performance.now(), () => Date.now()];

/**
 * Returns a function for the seconds since then. One clock may stop while the machine sleeps, the other may be
 * set back, so the one that has advanced further counts.
 */
export const stopwatch = (clocks = CLOCKS) => {
  const begun = clocks.map((clock) => clock());
  return () => Math.max(...clocks.map((clock, index) => clock() - begun[index])) / 1000;
};

const TICK_MS = 250;

/**
 * Calls `show` with the seconds that are left of `seconds` until none are, then `done`.
 */
export const countDown = (seconds, show, done) => {
  const passed = stopwatch();
  const tick = () => {
    const left = Math.ceil(seconds - passed());
    if (left > 0) {
      setTimeout(tick, TICK_MS);
      show(left);
    } else {
      done();
    }
  };
  tick();
};
