// The search over guide and reference. Its index is loaded with the first search.

import { element, part } from "../embed.js";
import { find, marked, snippet } from "./find.js";

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
        const pieces = marked(snippet(entry.text, query), query);
        const shown = pieces.map((piece, index) => (index % 2 === 1 ? element("mark", {}, piece) : piece));
        return element("li", {}, link, element("span", {}, ...shown));
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
      input.focus();
      show();
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      // From the field to the results, and back.
      const stops = [input, ...results.querySelectorAll("a")];
      stops[stops.indexOf(document.activeElement) + step]?.focus();
      event.preventDefault();
    }
  });
};
