// The script of the pages: the elements for newsletter and chat, and the other forms. Without it, the newsletter
// form is a plain one, and the pages show terminal commands in place of the other forms.
//
// Responses are inserted as text: the page's policy (Trusted Types) forbids anything else.

import "./embed.js";
import { key, tryIt } from "./script/forms.js";
import { addCopyButton, announcer, keepLanguage, settleContents } from "./script/page.js";
import { search } from "./script/search.js";

const FORMS = new Map(Object.entries({ key, "try-it": tryIt }));

/** Calls `work` for each of `parts`. A failure does not affect the others. */
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
  // Its card then shows the alternative.
  const giveUp = (form) => (form.closest(".card") ?? form).classList.add("unwired");
  each(document.querySelectorAll("form[data-form]"), wire, giveUp);
  each(document.querySelectorAll("form[data-search]"), search);
  each(document.querySelectorAll("a[href^='/']"), keepLanguage);
  each([announcer], (part) => document.body.append(part));
  each(document.querySelectorAll(".contents"), settleContents);
  each(document.querySelectorAll("main pre"), addCopyButton);
};

document.addEventListener("DOMContentLoaded", start);
// Last, after everything has loaded, but before the page is painted, so that nothing moves.
document.documentElement.classList.add("scripted");
