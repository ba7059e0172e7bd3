// Parts of the page: making and finding them, copying what they say.

export const element = (name, text = "", className = "") => {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
};

/** What `selector` finds in `root`, where it has to be. */
export const part = (root, selector) => {
  const found = root.querySelector(selector);
  if (!found) {
    throw new Error(`${selector} is missing`);
  }
  return found;
};

/** Tells those who cannot see it. */
export const announcer = element("p", "", "unseen");
announcer.setAttribute("role", "status");

const COPIED_SECONDS = 2.5;

/** Has `button` copy what `source` says then; `what` names it to those who do not see where it is. */
export const copiesFrom = (button, source, what) => {
  const label = button.textContent;
  const say = (words) => {
    button.textContent = words;
    button.setAttribute("aria-label", what ? `${words}: ${what}` : words);
  };
  button.addEventListener("click", async () => {
    let words = "Copied";
    try {
      // Only pages of a secure origin have a clipboard.
      await navigator.clipboard.writeText(source.textContent.trim());
    } catch {
      getSelection().selectAllChildren(source);
      words = "Selected: copy it by keyboard";
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
  const button = element("button", "Copy", "copy");
  button.type = "button";
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
