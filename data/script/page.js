// Parts of the page: copying what they say, the contents of long ones.

import { element, languageAt } from "../embed.js";

/** The messages that this module names: the service puts them here. */
const TEXTS={};

const message = (key) => TEXTS[languageAt(document.documentElement)][key];

/** Tells those who cannot see it. */
export const announcer = element("p", { class: "unseen", role: "status" });

const COPIED_SECONDS = 2.5;

/** Has `button` copy what `source` says then; `what` names it to those who do not see where it is. */
export const copiesFrom = (button, source, what) => {
  const label = button.textContent;
  const say = (words) => {
    button.textContent = words;
    button.setAttribute("aria-label", what ? `${words}: ${what}` : words);
  };
  button.addEventListener("click", async () => {
    let words = message("script-copied");
    try {
      // Only pages of a secure origin have a clipboard.
      await navigator.clipboard.writeText(source.textContent.trim());
    } catch {
      getSelection().selectAllChildren(source);
      words = message("script-select");
    }
    say(words);
    announcer.textContent = words;
    setTimeout(() => {
      say(label);
      announcer.textContent = "";
    }, COPIED_SECONDS * 1000);
  });
  say(label);
};

export const addCopyButton = (pre) => {
  const source = pre.firstElementChild;
  if (source?.tagName !== "CODE") {
    return;
  }
  const button = element("button", { type: "button", class: "copy" }, message("script-copy"));
  const [line] = source.textContent.trim().split("\n");
  copiesFrom(button, source, line.replace(/ \\$/, ""));
  pre.prepend(button);
};

/** Whoever chose a language keeps it: `link`, if it leads to a page of this site, names it, too. */
export const keepLanguage = (link) => {
  const chosen = new URLSearchParams(location.search).get("lang");
  const url = new URL(link.href);
  if (chosen && url.origin === location.origin && !link.hreflang) {
    url.searchParams.set("lang", chosen);
    link.href = url.href;
  }
};

/** The contents of long pages: beside the text they are open, above it whoever wants opens them. */
export const settleContents = (contents) => {
  const isWide = matchMedia("(min-width: 60rem)");
  const settle = () => {
    contents.open = isWide.matches;
  };
  isWide.addEventListener("change", settle);
  settle();
  contents.classList.add("settled");
};
