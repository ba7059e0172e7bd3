// What both elements have in common: where the service is, the visitor's language, the look.

import { isThere } from "./request.js";

/** The style sheet of the elements, and the messages of `data/locales/` that these modules name. The
 * service puts them here. */
const STYLE="";
const TEXTS={};

/** An element with these attributes, one of `null` left out, and these children. */
export const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null) {
      made.setAttribute(key, value);
    }
  }
  made.append(...children);
  return made;
};

/** The same for the elements here: a page styles each of them as the part of its class. */
export const styled = (name, className, attributes, ...children) =>
  element(name, { class: className, part: className, ...attributes }, ...children);

/** What `selector` finds in `root`, where it has to be. */
export const part = (root, selector) => {
  const found = root.querySelector(selector);
  if (!found) {
    throw new Error(`${selector} is missing`);
  }
  return found;
};

/** The first language of these tags that there are texts in. */
const languageOf = (tags) => {
  const primaries = tags.map((tag) => String(tag).toLowerCase().split("-")[0]);
  return primaries.find((tag) => Object.hasOwn(TEXTS, tag)) ?? "en";
};

/** The language of what stands in `place`. */
export const languageAt = (place) => languageOf([place.closest("[lang]")?.lang, ...navigator.languages]);

/** The messages of a language: a function of a message's key and what is filled in. */
export const messagesIn = (language) => {
  const message = (key, values = {}) =>
    TEXTS[language][key].replace(/\{(\w+)\}/g, (_whole, name) => String(values[name]));
  return Object.assign(message, { language });
};

/** One of the two elements. Its own children are what is seen where no script runs. */
export class LandingElement extends HTMLElement {
  connectedCallback() {
    // A sheet is of one document, and a page builder may move the element into that of a frame.
    const sheet = new this.ownerDocument.defaultView.CSSStyleSheet();
    sheet.replaceSync(STYLE);
    if (this.shadowRoot) {
      this.shadowRoot.adoptedStyleSheets = [sheet];
      return;
    }
    this.message = messagesIn(languageAt(this));
    const root = styled("div", "root", { lang: this.message.language });
    this.build(root);
    // All else went well: from here on the children are not seen.
    const shadow = this.attachShadow({ mode: "open" });
    shadow.adoptedStyleSheets = [sheet];
    shadow.append(root);
    this.start?.();
  }

  /** The origin of the service: what `src` names, or where this module is from. */
  get base() {
    const src = this.getAttribute("src") ?? "";
    return new URL(/^https?:\/\//i.test(src) && URL.canParse(src) ? src : import.meta.url).origin;
  }

  /** The text of an attribute, or else a message. */
  words(attribute, key, values) {
    return this.getAttribute(attribute) ?? this.message(key, values);
  }

  /** The heading and the text above the form, if the page gives any. */
  introduction(otherwise = "") {
    const heading = this.getAttribute("heading") ?? otherwise;
    const text = this.getAttribute("text");
    return [
      ...(heading ? [styled("h2", "heading", { id: "heading" }, heading)] : []),
      ...(text ? [styled("p", "introduction", {}, text)] : []),
    ];
  }

  /** The link to the privacy notice, if the page names one. */
  privacy() {
    const href = this.getAttribute("privacy-url") ?? "";
    const isUrl = /^(https?:\/)?\//i.test(href);
    const link = () => element("a", { href, target: "_blank", rel: "noopener" }, this.message("frame-privacy"));
    return isUrl ? [styled("p", "privacy", {}, link())] : [];
  }

  /** A link to a page of the service, for a frame whose sandbox lets nothing else: its origin is `null`. */
  leadTo(path, key) {
    const href = `${this.base}${path}?lang=${this.message.language}`;
    return element("a", { href, target: "_blank", rel: "noopener" }, this.message(key));
  }

  /** Whether `failure` is one of a page whose origin is not allowed: it cannot call the API. */
  async isRefused(failure) {
    return failure.kind === "lost" && this.base !== self.origin && isThere(this.base);
  }
}

/** Tells the browser of an element, unless another copy of this module has. */
export const define = (name, constructor) => customElements.get(name) ?? customElements.define(name, constructor);
