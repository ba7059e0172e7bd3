// Full-text search of the docs.

const RESULTS_MAX = 8;

export const wordsOf = (text) => text.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean);

/** The rank of an entry: 0 if a word is missing, higher if the title has it. Hints are other words for its topic. */
const rank = ({ title, text, hints = "" }, words) => {
  const [inTitle, inText] = [title.toLowerCase(), `${text}\n${hints}`.toLowerCase()];
  let sum = 0;
  for (const word of words) {
    const worth = (inTitle.includes(word) ? 4 : 0) + (inText.includes(word) ? 1 : 0);
    if (worth === 0) {
      return 0;
    }
    sum += worth;
  }
  return sum;
};

/** The entries with every word of `query`, best first. */
export const find = (entries, query) => {
  const words = wordsOf(query);
  const ranked = entries.map((entry) => ({ entry, worth: words.length > 0 ? rank(entry, words) : 0 }));
  const found = ranked.filter(({ worth }) => worth > 0).sort((a, b) => b.worth - a.worth);
  return found.slice(0, RESULTS_MAX).map(({ entry }) => entry);
};

const SNIPPET_LENGTH = 120;

/** The sentence of `text` with the first word of `query` that it has, and as much as fits after it. */
export const snippet = (text, query) => {
  const lower = text.toLowerCase();
  const at = Math.max(0, lower.indexOf(wordsOf(query).find((word) => lower.includes(word)) ?? ""));
  const start = text.slice(0, at).split(/[.!?]\s|\n/).at(-1).length;
  const begin = at - Math.min(start, SNIPPET_LENGTH / 2);
  const cut = text.slice(begin, begin + SNIPPET_LENGTH).replace(/\s+/g, " ").trim();
  return `${start > at - begin ? "… " : ""}${cut}${begin + SNIPPET_LENGTH < text.length ? " …" : ""}`;
};

/** Splits `text` so that every second piece is a word of `query`. */
export const marked = (text, query) => {
  const words = wordsOf(query).sort((a, b) => b.length - a.length);
  // No escaping: words consist of letters and digits.
  return words.length > 0 ? text.split(new RegExp(`(${words.join("|")})`, "iu")) : [text];
};
