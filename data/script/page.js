// Copy buttons, the language of links, the contents of long pages.

import { element, languageAt } from "../embed.js";

/** Filled in by the service: the messages that this module uses. */
const TEXTS={};

const message = (key) => TEXTS[key][TEXTS.languages.indexOf(languageAt(document.documentElement))];

/** Announces changes to screen readers. */
export const announcer = element("p", { class: "unseen", role: "status" });

const COPIED_SECONDS = 2.5;

/** Has `button` copy the text of `source`, which screen readers call `what`. */
export const copiesFrom = (button, source, what) => {
  const label = button.textContent;
  const say = (words) => {
    button.textContent = words;
    button.setAttribute("aria-label", what ? `${words}: ${what}` : words);
  };
  button.addEventListener("click", async () => {
    let words = message("script-copied");
    try {
      // Only secure origins have a clipboard.
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

/** Adds the language that the visitor chose to a `link` within this site. */
export const keepLanguage = (link) => {
  const chosen = new URLSearchParams(location.search).get("lang");
  const url = new URL(link.href);
  if (chosen && url.origin === location.origin && !link.closest(".languages")) {
    url.searchParams.set("lang", chosen);
    link.href = url.href;
  }
};

/** Contents next to the text are open, those above it are closed. */
export const settleContents = (contents) => {
  const isWide = matchMedia("(min-width: 60rem)");
  const settle = () => {
    contents.open = isWide.matches;
  };
  isWide.addEventListener("change", settle);
  settle();
  contents.classList.add("settled");
};
