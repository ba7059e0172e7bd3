// The script of the pages: the elements for the newsletter and the chat, and what the other forms do.
// Where it does not run the newsletter's form is a plain one, and the page tells in place of the others how to
// do the same from a terminal.
//
// Whatever comes from outside is put into the page as text. The policy of the page (Trusted Types)
// would stop it otherwise.

import "./embed.js";
import { key, tryIt } from "./script/forms.js";
import { addCopyButton, announcer, keepLanguage, settleContents } from "./script/page.js";
import { search } from "./script/search.js";

const FORMS = new Map(Object.entries({ key, "try-it": tryIt }));

/** Does `work` with every one of `parts`; where it fails the others still get theirs. */
const each = (parts, work, otherwise = () => {}) => {
  for (const part of parts) {
    try {
      work(part);
    } catch (error) {
      console.error(error);
      otherwise(part);
    }
  }
};

const start = () => {
  const wire = (form) => FORMS.get(form.dataset.form)(form);
  // Then its card tells how to do without.
  const giveUp = (form) => (form.closest(".card") ?? form).classList.add("unwired");
  each(document.querySelectorAll("form[data-form]"), wire, giveUp);
  each(document.querySelectorAll("form[data-search]"), search);
  each(document.querySelectorAll("a[href^='/']"), keepLanguage);
  each([announcer], (part) => document.body.append(part));
  each(document.querySelectorAll(".contents"), settleContents);
  each(document.querySelectorAll("main pre"), addCopyButton);
};

document.addEventListener("DOMContentLoaded", start);
// All else went well. Before the page is painted, so that nothing moves afterwards.
document.documentElement.classList.add("scripted");
