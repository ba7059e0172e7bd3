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
