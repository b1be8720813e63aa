// What the pages gain from a script; every page works without it.
"use strict";

// Focus the summary of errors, so that it is the first thing that is read.
document.querySelector("[data-focus]")?.focus();

// Copy a reference.
function copies(button) {
  if (!navigator.clipboard) return;
  button.hidden = false;
  button.setAttribute("aria-live", "polite");
  const label = button.querySelector("span");
  const text = label.textContent;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    label.textContent = button.dataset.copied;
    setTimeout(() => { label.textContent = text; }, 2000);
  });
}

function prints(button) {
  button.hidden = false;
  button.addEventListener("click", () => window.print());
}

// The browser knows where it is; whoever makes an account need not say it.
for (const field of document.querySelectorAll("[data-zone]")) {
  field.value = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
}

// A form is sent once: the second click of a double click does nothing. The server would answer
// both with the same page.
function once(form) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "1";
    form.querySelector("button")?.setAttribute("aria-disabled", "true");
  });
}
window.addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  for (const form of document.querySelectorAll("form[data-sent]")) {
    delete form.dataset.sent;
    form.querySelector("button")?.removeAttribute("aria-disabled");
  }
});

// The countdown shows the time that is left by the server's clock. It decides nothing: the server
// does, when a button is pressed. The difference between the two clocks is taken from the moment
// at which the answer arrived, and anew after sleep, a change of the browser's clock, a return to
// the page, and before it says that the time is over.
class Countdown {
  constructor(box) {
    this.box = box;
    this.deadline = Date.parse(box.dataset.deadline);
    const [navigation] = performance.getEntriesByType("navigation");
    const arrived = performance.timeOrigin + (navigation?.responseStart ?? 0);
    this.skew = Date.parse(box.dataset.now) - arrived;
    this.title = document.title;
    this.marks = [10, 5, 2, 1].filter((m) => this.left() > m * 60_000);
    this.remember();
    this.tick();
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.ask(); });
    window.addEventListener("pageshow", (event) => { if (event.persisted) this.ask(); });
  }

  left() { return this.deadline - (Date.now() + this.skew); }

  remember() { this.wall = Date.now(); this.steady = performance.now(); }

  // Both clocks of the browser run alike unless it slept or one of them was set.
  jumped() { return Math.abs((Date.now() - this.wall) - (performance.now() - this.steady)) > 1500; }

  async tick() {
    clearTimeout(this.timer);
    if (this.ended || !this.box.isConnected) return;
    const jumped = this.jumped();
    this.remember();
    if (jumped || this.left() <= 0) {
      const known = await this.ask();
      if (this.ended) return;
      if (!known && this.left() <= 0) {
        this.over();
        return;
      }
    }
    this.show();
    // On to the next full second.
    this.timer = setTimeout(() => this.tick(), Math.max(100, (this.left() % 1000) + 10));
  }

  show() {
    const seconds = Math.max(0, Math.ceil(this.left() / 1000));
    const text = this.box.dataset.left
      .replace("{m}", String(Math.floor(seconds / 60)))
      .replace("{s}", String(seconds % 60).padStart(2, "0"));
    this.box.querySelector("[data-countdown]").textContent = text;
    document.title = text + " – " + this.title;
    this.box.querySelector("[data-warn]")?.toggleAttribute("hidden", seconds > 120);
    while (this.marks.length > 0 && seconds <= this.marks[0] * 60) this.say(this.marks.shift());
  }

  say(minutes) {
    const text = minutes === 1 ? this.box.dataset.markOne : this.box.dataset.mark.replace("{m}", String(minutes));
    this.box.querySelector("[data-announce]").textContent = text;
  }

  // Ask the server what time it is and how the hold stands; false without an answer.
  async ask() {
    if (this.asking || this.ended || !this.box.isConnected) return true;
    this.asking = true;
    try {
      const sent = Date.now();
      const response = await fetch(this.box.dataset.clock, { headers: { Accept: "application/json" }, cache: "no-store" });
      if (!response.ok) return false;
      const fact = await response.json();
      const arrived = Date.now();
      this.skew = Date.parse(fact.now) - (sent + arrived) / 2;
      this.deadline = Date.parse(fact.deadline);
      this.remember();
      // Where live.js runs it takes over what has changed.
      const news = new CustomEvent("ironhold:hold", { detail: fact, cancelable: true });
      if (fact.state === "expired") this.over();
      else if (document.dispatchEvent(news) && fact.state !== "held") location.reload();
      else this.show();
      return true;
    } catch {
      return false; // the old difference stays; the server decides anyway
    } finally {
      this.asking = false;
    }
  }

  over() {
    this.ended = true;
    clearTimeout(this.timer);
    document.title = this.box.dataset.titleOver + " – Ironhold";
    this.box.setAttribute("data-ended", "");
    const live = this.box.querySelector('[data-phase="live"]');
    const over = this.box.querySelector('[data-phase="over"]');
    const announce = this.box.querySelector("[data-announce]");
    announce.textContent = this.box.dataset.over;
    this.box.append(announce); // it must stay heard when its part is hidden
    const had = live.contains(document.activeElement) || document.activeElement?.closest("form[data-needs-time]");
    live.hidden = true;
    over.hidden = false;
    for (const form of document.querySelectorAll("form[data-needs-time]")) form.hidden = true;
    // The whole page says it, not this part alone.
    const main = document.querySelector("main");
    main.className = main.className.replace(/\btone-\w+/, "tone-expired");
    main.dataset.outcome = "hold-expired";
    main.querySelector("h1").textContent = this.box.dataset.titleOver;
    main.querySelector(".verdict-icon")?.replaceChildren(over.querySelector(".icon").cloneNode(true));
    const until = this.box.querySelector("[data-until]");
    if (until) until.textContent = until.dataset.until;
    if (had) over.querySelector("a, button")?.focus({ preventScroll: true }); // what had the focus is gone
    document.dispatchEvent(new CustomEvent("ironhold:over"));
  }
}

// What a page, or a part of it that was taken over later, gains.
function enhance(part) {
  const all = (selector) => [...(part.matches?.(selector) ? [part] : []), ...part.querySelectorAll(selector)];
  all("[data-copy]").forEach(copies);
  all("[data-print]").forEach(prints);
  all("form[data-once]").forEach(once);
  all("[data-deadline]").forEach((box) => new Countdown(box));
}

enhance(document);
document.addEventListener("ironhold:swapped", (event) => enhance(event.detail));

// A page whose result is not known yet asks until it is, and only then goes there: reading is not
// interrupted by reloads.
async function resolve(address) {
  let known = false;
  try {
    const response = await fetch(address, { headers: { Accept: "application/json" }, redirect: "manual", cache: "no-store" });
    known = response.type === "opaqueredirect" || (response.ok && response.status !== 204);
  } catch {
    // No answer is no result either.
  }
  if (known) location.replace(address);
  else setTimeout(resolve, 2000, address);
}

const unknown = document.querySelector("[data-resolve]");
if (unknown) setTimeout(resolve, 1000, unknown.dataset.resolve);
