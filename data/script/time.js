// Time: how long something takes, and how long one has to wait.

/** The longest window that a limit may have, in seconds: who tells of more is wrong. */
const WAIT_SECONDS_MAX = 366 * 24 * 3600;

const UNITS = [
  [24 * 3600, "day", "days"],
  [3600, "h", "h"],
  [60, "min", "min"],
  [1, "s", "s"],
];

/** A number of whole seconds as one reads it from a clock, in its largest unit and the next. */
export const duration = (seconds) => {
  const parts = UNITS.map(([length, one, many], index) => {
    const larger = UNITS[index - 1]?.[0] ?? Infinity;
    const number = Math.floor((seconds % larger) / length);
    return { number, words: `${number} ${number === 1 ? one : many}` };
  });
  const first = parts.findIndex(({ number }) => number > 0);
  const shown = parts.slice(first, first + 2).filter(({ number }) => number > 0);
  return shown.map(({ words }) => words).join(" ") || "0 s";
};

/**
 * The seconds that a `Retry-After` asks for, which may be a date, too (RFC 9110, section 10.2.3);
 * 0 if it asks for nothing, or for nothing that makes sense. `date` is the same answer's `Date`:
 * the clock here may be wrong.
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
 * Tells how many seconds have passed since it was made. One clock may stand still while the machine
 * sleeps, the other may be set back: whichever has gone further is believed.
 */
export const stopwatch = (clocks = CLOCKS) => {
  const begun = clocks.map((clock) => clock());
  return () => Math.max(...clocks.map((clock, index) => clock() - begun[index])) / 1000;
};
