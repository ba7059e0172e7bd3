// The search over the guide and the reference. Its index is loaded when somebody begins to search.

import { element, part } from "../embed.js";
import { find, wordsOf } from "./find.js";

const SNIPPET_LENGTH = 90;

/** What stands around the first word of `query`. */
const snippet = ({ text }, query) => {
  const [word = ""] = wordsOf(query);
  const at = Math.max(0, text.toLowerCase().indexOf(word) - SNIPPET_LENGTH / 3);
  const cut = text.slice(at, at + SNIPPET_LENGTH).replace(/\s+/g, " ").trim();
  return `${at > 0 ? "… " : ""}${cut} …`;
};

export const search = (root) => {
  const input = part(root, "input");
  const results = part(root, ".results");
  const status = part(root, "[role=status]");
  let loading = null;
  const load = () => {
    loading ??= fetch(root.dataset.search).then((answer) => {
      if (!answer.ok) {
        throw new Error(`status ${answer.status}`);
      }
      return answer.json();
    });
    return loading;
  };
  const show = async () => {
    const query = input.value;
    let entries = [];
    try {
      entries = await load();
    } catch {
      loading = null;
      status.textContent = "The search could not be loaded. Please try again.";
      return;
    }
    if (query !== input.value) {
      return;
    }
    const found = find(entries, query);
    results.replaceChildren(
      ...found.map((entry) => {
        const link = element("a", { href: entry.path }, entry.title);
        return element("li", {}, link, element("span", {}, snippet(entry, query)));
      }),
    );
    const isAsked = query.trim() !== "";
    status.textContent = isAsked ? `${found.length || "No"} ${found.length === 1 ? "result" : "results"}` : "";
  };
  input.addEventListener("focus", () => load().catch(() => (loading = null)));
  input.addEventListener("input", show);
  root.addEventListener("submit", (event) => {
    event.preventDefault();
    results.querySelector("a")?.click();
  });
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      input.value = "";
      show();
    }
  });
};
