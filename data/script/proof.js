// The proof of work that the newsletter's form asks for when several have signed up from a network, by
// ALTCHA's protocol: the number that stands behind the salt in what was hashed.

import { part } from "../embed.js";

const ENCODER = new TextEncoder();

const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

const solve = async ({ algorithm, challenge, maxnumber, salt }) => {
  for (let number = 0; number <= maxnumber; number += 1) {
    const digest = await crypto.subtle.digest(algorithm, ENCODER.encode(`${salt}${number}`));
    if (hex(digest) === challenge) {
      return number;
    }
  }
  throw new Error("The challenge has no solution.");
};

/** Begins at once, and has the form sent when the number is found. */
export const proof = (form) => {
  const challenge = JSON.parse(form.dataset.challenge);
  const [field, button] = ["[name=altcha]", "[type=submit]"].map((selector) => part(form, selector));
  if (!crypto.subtle) {
    throw new Error("This page is not of a secure origin.");
  }
  let isSent = false;
  form.addEventListener("submit", (event) => {
    isSent = true;
    if (!field.value) {
      event.preventDefault();
      button.setAttribute("aria-disabled", "true");
    }
  });
  solve(challenge).then((number) => {
    const { algorithm, challenge: hash, salt, signature } = challenge;
    field.value = btoa(JSON.stringify({ algorithm, challenge: hash, number, salt, signature }));
    button.removeAttribute("aria-disabled");
    if (isSent) {
      form.requestSubmit();
    }
  });
};
