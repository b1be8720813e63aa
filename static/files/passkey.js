// Passkeys: the browser's own dialogue, then the form is sent with its answer. Without it the forms
// stay hidden; a password and a code do as well.
"use strict";

const able = typeof PublicKeyCredential === "function" && typeof PublicKeyCredential.parseRequestOptionsFromJSON === "function";

async function ask(form) {
  const response = await fetch(form.dataset.options, { method: "POST", headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error(String(response.status));
  const options = await response.json();
  const credential = form.dataset.passkey === "create"
    ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
    : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
  return JSON.stringify(credential);
}

if (able) {
  for (const hint of document.querySelectorAll("[data-passkey-none]")) hint.hidden = true;
  for (const form of document.querySelectorAll("[data-passkey]")) {
    form.hidden = false;
    const trouble = form.querySelector("[data-passkey-trouble]");
    let busy = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (busy) return;
      busy = true;
      trouble.hidden = true;
      try {
        form.elements.credential.value = await ask(form);
        form.submit();
      } catch {
        trouble.hidden = false;
        busy = false;
      }
    });
  }
}
