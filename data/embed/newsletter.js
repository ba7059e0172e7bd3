// <landing-newsletter>: a form that signs an address up.

import { LandingElement, define, element, styled } from "./element.js";
import { Form } from "./form.js";
import { post } from "./request.js";

/** Filled in by the service, because the API's response does not say it: true if sign-ups are confirmed by
 * email. */
const CONFIRMS=false;

class LandingNewsletter extends LandingElement {
  build(root) {
    const email = styled("input", "input", {
      id: "email",
      name: "email",
      type: "email",
      autocomplete: "email",
      required: "",
      maxlength: "254",
      placeholder: this.getAttribute("placeholder"),
      "data-error": this.message("newsletter-address-wrong"),
      "aria-describedby": "email-error",
    });
    // A honeypot: invisible to people.
    const trap = element("input", { name: "website", hidden: "", autocomplete: "off" });
    const form = styled(
      "form",
      "form",
      { method: "post", action: `${this.base}/newsletter`, target: self.origin === "null" ? "_blank" : "_top", novalidate: "" },
      styled(
        "div",
        "row",
        {},
        styled(
          "div",
          "field",
          {},
          styled("label", "label", { for: "email" }, this.words("label", "newsletter-email")),
          email,
        ),
        styled("button", "button", { type: "submit" }, this.words("button", "newsletter-submit")),
      ),
      styled("p", "error", { id: "email-error", hidden: "" }),
      trap,
      element("input", { type: "hidden", name: "lang", value: this.message.language }),
      styled("div", "status", { role: "status" }),
    );
    const introduction = this.introduction();
    root.append(...introduction, form, ...this.privacy());
    const shown = new Form(form, this.message);
    shown.onSubmit(async () => {
      // The visitor may type on while waiting.
      const address = email.value;
      if (trap.value || !(await this.#signUp(address))) {
        // The service checks it and shows a page.
        form.submit();
        // A sandbox may block that silently.
        shown.say(this.leadTo("/newsletter", "newsletter-submit"));
        return;
      }
      shown.say(this.words("thanks", "newsletter-thanks", { email: address }));
      if (CONFIRMS) {
        // The next step is the inbox: only the message stays.
        form.replaceChildren(form.lastChild);
        introduction.filter((part) => part.localName === "p").forEach((part) => part.remove());
        form.tabIndex = -1;
        form.focus();
      }
      if (email.value === address) {
        email.value = "";
      }
    });
  }

  /**
   * WordPress closes its paragraph, and with it the element, before a form. The form then follows the
   * element and would be a second one.
   */
  start() {
    const next = (this.closest("p") ?? this).nextElementSibling;
    if (next?.action === `${this.base}/newsletter` && !this.querySelector("form")) {
      next.remove();
    }
  }

  /** False if the page's origin is not allowed to call the API: it can only send a form. */
  async #signUp(email) {
    try {
      await post(`${this.base}/api/v1/newsletter`, { email });
      return true;
    } catch (failure) {
      if (await this.isRefused(failure)) {
        return false;
      }
      throw failure;
    }
  }
}

define("landing-newsletter", LandingNewsletter);
