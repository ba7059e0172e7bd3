// <landing-newsletter>: a form that signs an address up.

import { LandingElement, define, element, styled } from "./element.js";
import { Form } from "./form.js";
import { post } from "./request.js";

/** Whether a sign-up is pending until it is confirmed by email. The answer of the API does not say so: the service puts
 * it here. */
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
    // People neither see nor reach this field: whoever fills it in is a program.
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
      // Whoever waits may type on.
      const address = email.value;
      if (trap.value || !(await this.#signUp(address))) {
        // The service judges it, and shows a page.
        form.submit();
        // A sandbox may stop that without a word.
        shown.say(this.leadTo("/newsletter", "newsletter-submit"));
        return;
      }
      shown.say(this.words("thanks", "newsletter-thanks", { email: address }));
      if (CONFIRMS) {
        // The inbox is next: of the form, what was said remains.
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
   * WordPress closes its paragraph before a form, and the element with it: its form is left behind it, and
   * would be a second one.
   */
  start() {
    const next = (this.closest("p") ?? this).nextElementSibling;
    if (next?.action === `${this.base}/newsletter` && !this.querySelector("form")) {
      next.remove();
    }
  }

  /** Whether the API could be called: a page whose origin is not allowed can only send a form. */
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
