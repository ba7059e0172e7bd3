// Finding places of the docs by words.

const RESULTS_MAX = 8;

export const wordsOf = (text) => text.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean);

/** How well an entry fits: 0 if a word is missing, more where a title has it. */
const rank = ({ title, text }, words) => {
  const [inTitle, inText] = [title.toLowerCase(), text.toLowerCase()];
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

/** The entries that have every word of `query`, the best first. */
export const find = (entries, query) => {
  const words = wordsOf(query);
  const ranked = entries.map((entry) => ({ entry, worth: words.length > 0 ? rank(entry, words) : 0 }));
  const found = ranked.filter(({ worth }) => worth > 0).sort((a, b) => b.worth - a.worth);
  return found.slice(0, RESULTS_MAX).map(({ entry }) => entry);
};

const SNIPPET_LENGTH = 120;

/** The sentence of `text` that has the first word of `query`, and what fits after it. */
export const snippet = (text, query) => {
  const [word = ""] = wordsOf(query);
  // The first line has example questions, or the path of an operation.
  const body = text.slice(text.indexOf("\n") + 1);
  const searched = body.toLowerCase().includes(word) ? body : text;
  const at = Math.max(0, searched.toLowerCase().indexOf(word));
  const start = searched.slice(0, at).split(/[.!?:]\s|\n/).at(-1).length;
  const begin = at - Math.min(start, SNIPPET_LENGTH / 2);
  const cut = searched.slice(begin, begin + SNIPPET_LENGTH).replace(/\s+/g, " ").trim();
  return `${start > at - begin ? "… " : ""}${cut}${begin + SNIPPET_LENGTH < searched.length ? " …" : ""}`;
};

/** `text` cut into pieces, every second of which is a word of `query`. */
export const marked = (text, query) => {
  const words = wordsOf(query).sort((a, b) => b.length - a.length);
  // The words consist of letters and digits.
  return words.length > 0 ? text.split(new RegExp(`(${words.join("|")})`, "iu")) : [text];
};
