// The base of both elements: the service's address, the visitor's language, the style.

import { isThere } from "./request.js";

/** Filled in by the service: the stylesheet of the elements, and the messages of `data/locales/` that these
 * modules use. */
const STYLE="";
const TEXTS={};

/** Creates an element. Attributes that are `null` are left out. */
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

/** The same, exposed to the page's styles as a part named like its class. */
export const styled = (name, className, attributes, ...children) =>
  element(name, { class: className, part: className, ...attributes }, ...children);

/** The match of `selector` in `root`; an error if there is none. */
export const part = (root, selector) => {
  const found = root.querySelector(selector);
  if (!found) {
    throw new Error(`${selector} is missing`);
  }
  return found;
};

/** The first of these languages with texts. */
const languageOf = (tags) => {
  const primaries = tags.map((tag) => String(tag).toLowerCase().split("-")[0]);
  return primaries.find((tag) => TEXTS.languages.includes(tag)) ?? "en";
};

/** The language at `place`, or else the browser's. */
export const languageAt = (place) => languageOf([place.closest("[lang]")?.lang, ...navigator.languages]);

/** A function that returns the message of a key, with its values filled in. */
export const messagesIn = (language) => {
  const message = (key, values = {}) =>
    TEXTS[key][TEXTS.languages.indexOf(language)].replace(/\{(\w+)\}/g, (_whole, name) => String(values[name]));
  return Object.assign(message, { language });
};

/** An element whose children are shown only where no script runs. */
export class LandingElement extends HTMLElement {
  connectedCallback() {
    // A stylesheet belongs to one document, and a page builder may move the element into a frame's.
    const sheet = new this.ownerDocument.defaultView.CSSStyleSheet();
    sheet.replaceSync(STYLE);
    if (this.shadowRoot) {
      this.shadowRoot.adoptedStyleSheets = [sheet];
      return;
    }
    this.message = messagesIn(languageAt(this));
    const root = styled("div", "root", { lang: this.message.language });
    this.build(root);
    // Last, because it hides the children: an error before leaves them visible.
    const shadow = this.attachShadow({ mode: "open" });
    shadow.adoptedStyleSheets = [sheet];
    shadow.append(root);
    this.start?.();
  }

  /** The origin of the service: from `src`, or from this module's URL. */
  get base() {
    const src = this.getAttribute("src") ?? "";
    return new URL(/^https?:\/\//i.test(src) && URL.canParse(src) ? src : import.meta.url).origin;
  }

  /** The text of an attribute, or else a message. */
  words(attribute, key, values) {
    return this.getAttribute(attribute) ?? this.message(key, values);
  }

  /** Heading and text above the form: from the attributes, or else these. */
  introduction(otherHeading, otherText) {
    const heading = this.getAttribute("heading") ?? otherHeading;
    const text = this.getAttribute("text") ?? otherText;
    return [
      ...(heading ? [styled("h2", "heading", { id: "heading" }, heading)] : []),
      ...(text ? [styled("p", "introduction", {}, text)] : []),
    ];
  }

  privacy() {
    const href = this.getAttribute("privacy-url") ?? "";
    const isUrl = /^(https?:\/)?\//i.test(href);
    const link = () => element("a", { href, target: "_blank", rel: "noopener" }, this.message("frame-privacy"));
    return isUrl ? [styled("p", "privacy", {}, link())] : [];
  }

  /** A link to the service, for a sandboxed frame that allows nothing else: its origin is `null`. */
  leadTo(path, key) {
    const href = `${this.base}${path}?lang=${this.message.language}`;
    return element("a", { href, target: "_blank", rel: "noopener" }, this.message(key));
  }

  /** True if the call failed because the page's origin is not allowed. */
  async isRefused(failure) {
    return failure.kind === "lost" && this.base !== self.origin && isThere(this.base);
  }
}

/** Registers an element, unless another copy of this module has. */
export const define = (name, constructor) => customElements.get(name) ?? customElements.define(name, constructor);
