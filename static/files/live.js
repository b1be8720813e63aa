// Tells an open page that what it shows has changed. The stream only says that something has; the
// page asks for what it needs to know. Without the stream it asks now and then, and says so. Hidden
// pages neither listen nor ask.

const OFF_AFTER = 10_000; // ms without a stream until the page says so
const POLL_EVERY = 15_000;
const ASK_GAP = 4_000; // between two questions that changes cause
const NOTE_FOR = 20_000;

class Live {
  constructor(root) {
    this.root = root;
    this.kind = root.dataset.live;
    this.bar = root.querySelector("[data-live-bar]");
    this.said = root.querySelector("[data-live-said]");
    this.withdrawn = document.querySelector('main[data-outcome="machine-withdrawn"]') !== null;
    for (const button of root.querySelectorAll("[data-live-reload]")) button.addEventListener("click", () => location.reload());
    document.addEventListener("visibilitychange", () => { if (document.hidden) this.pause(); else this.resume(true); });
    window.addEventListener("pagehide", () => this.pause());
    window.addEventListener("pageshow", (event) => { if (event.persisted) this.resume(true); });
    document.addEventListener("ironhold:hold", (event) => { event.preventDefault(); this.hold(event.detail); });
    document.addEventListener("ironhold:over", () => this.more());
    if (!document.hidden) this.resume(false);
  }

  // The stream.

  resume(ask) {
    if (this.source || this.over) return;
    const source = new EventSource(this.root.dataset.events);
    this.source = source;
    source.addEventListener("live", () => this.on());
    source.addEventListener("notlive", () => this.off());
    source.addEventListener("stock", () => this.soon());
    source.addEventListener("hold", (event) => this.hold(JSON.parse(event.data)));
    source.addEventListener("end", () => this.signedOut());
    source.addEventListener("error", () => {
      this.off();
      if (source.readyState !== EventSource.CLOSED || this.source !== source) return; // it tries again by itself
      this.source = undefined;
      clearTimeout(this.again);
      this.again = setTimeout(() => { if (!document.hidden) this.resume(true); }, 4 * POLL_EVERY);
    });
    this.off(); // until it says otherwise
    if (ask) this.ask();
  }

  pause() {
    this.source?.close();
    this.source = undefined;
    for (const timer of [this.again, this.offTimer, this.asking]) clearTimeout(timer);
    clearInterval(this.polling);
    this.offTimer = this.polling = this.asking = undefined;
  }

  on() {
    const was = this.polling;
    clearTimeout(this.offTimer);
    clearInterval(this.polling);
    this.offTimer = this.polling = undefined;
    this.show("off", false);
    if (was) this.ask();
  }

  off() {
    if (this.offTimer || this.polling || document.hidden) return;
    this.offTimer = setTimeout(() => {
      this.offTimer = undefined;
      if (!this.shown("changed")) this.show("off", true);
      this.polling = setInterval(() => this.ask(), POLL_EVERY);
      this.ask();
    }, OFF_AFTER);
  }

  signedOut() {
    this.over = true;
    this.pause();
    this.show("off", false);
    this.show("ended", true);
    this.say(this.text("ended"));
  }

  // What is said.

  part(name) { return this.bar.querySelector(`[data-live-${name}]`); }

  text(name) { return this.part(name).querySelector("span").textContent; }

  shown(name) { return this.part(name)?.hidden === false; }

  show(name, yes) {
    const part = this.part(name);
    if (!part) return;
    part.hidden = !yes;
    this.bar.hidden = [...this.bar.children].every((p) => p.hidden);
  }

  say(text) { this.said.textContent = text; }

  note(what) {
    const text = this.root.dataset.elsewhere.replace("{what}", what);
    this.part("note").textContent = text;
    this.show("note", true);
    this.say(text);
    clearTimeout(this.noted);
    this.noted = setTimeout(() => this.show("note", false), NOTE_FOR);
  }

  // What is asked.

  // A change is asked about a moment later, so that many pages do not ask at once and many changes
  // are one question.
  soon() {
    if (this.kind === "hold" || this.asking || this.shown("changed")) return;
    const wait = Math.max(0, (this.asked ?? -ASK_GAP) + ASK_GAP - performance.now());
    this.asking = setTimeout(() => { this.asking = undefined; this.ask(); }, wait + 200 + Math.random() * 800);
  }

  async ask() {
    if (this.over) return;
    this.asked = performance.now();
    try {
      if (this.kind === "hold") await this.askHold();
      else await this.askDigest();
    } catch {
      // No answer: the page says that it may be old.
    }
  }

  async askDigest() {
    if (this.shown("changed")) return;
    const answer = await fetch(location.href, { headers: { "Ironhold-Digest": "1" }, cache: "no-store", redirect: "manual" });
    if (answer.status === 401) this.signedOut();
    const digest = answer.headers.get("Ironhold-Digest");
    if (answer.status !== 204 || !digest || digest === this.root.dataset.digest) return;
    this.show("off", false);
    this.show("changed", true);
    this.say(this.text("changed"));
  }

  async askHold() {
    const clock = document.querySelector("[data-clock]")?.dataset.clock;
    if (!clock) return;
    const answer = await fetch(clock, { headers: { Accept: "application/json" }, cache: "no-store" });
    if (answer.status === 401) this.signedOut();
    if (answer.ok) await this.hold(await answer.json());
  }

  // The hold.

  async hold(fact) {
    const box = document.querySelector("[data-deadline]");
    if (!box || this.swapping) return;
    const same = Date.parse(fact.deadline) === Date.parse(box.dataset.deadline) && fact.withdrawn === this.withdrawn;
    if (fact.state === "held" && same) return;
    if (fact.state === "expired") {
      if (box.hasAttribute("data-ended")) return; // it says so already
      const left = Date.parse(fact.deadline) - Date.parse(fact.now);
      if (same && left <= 0) return; // the countdown says it
    }
    this.swapping = true;
    try {
      const page = await this.page();
      if (page) this.swap(page, fact);
    } catch {
      // The next question finds it out again.
    } finally {
      this.swapping = false;
    }
  }

  // The page as the server draws it now; undefined when it cannot be had.
  async page() {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
    if (answer.status === 401) this.signedOut();
    if (!answer.ok) return undefined;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    page.address = answer.url;
    return page;
  }

  // Takes over what has changed: the part with the deadline, or, when the hold is no longer what it
  // was, the whole content. What had the focus has it afterwards, if it is still there.
  swap(page, fact) {
    const main = document.querySelector("main");
    const fresh = page.querySelector("main");
    const had = document.activeElement;
    const mark = had?.closest("form")?.getAttribute("action") ?? had?.getAttribute("href");
    const path = (address) => new URL(address).pathname;
    document.title = page.title;
    let part;
    if (path(page.address) === location.pathname && fresh.dataset.outcome === main.dataset.outcome && fresh.querySelector("[data-deadline]")) {
      const swapped = ["[data-deadline]", '[aria-labelledby="history-title"]'].map((s) => [main.querySelector(s), fresh.querySelector(s)]);
      for (const [before, after] of swapped) if (before && after) before.replaceWith(after);
      part = swapped[0][1];
    } else {
      main.replaceChildren(...fresh.childNodes);
      main.className = fresh.className;
      main.toggleAttribute("data-outcome", "outcome" in fresh.dataset);
      if (fresh.dataset.outcome) main.dataset.outcome = fresh.dataset.outcome;
      if (path(page.address) !== location.pathname) history.replaceState(null, "", page.address);
      part = main;
    }
    this.withdrawn = fact.withdrawn;
    document.dispatchEvent(new CustomEvent("ironhold:swapped", { detail: part }));
    if (had && had !== document.body && !had.isConnected) {
      const same = mark && part.querySelector(`form[action="${CSS.escape(mark)}"] button, a[href="${CSS.escape(mark)}"]`);
      (same || main).focus({ preventScroll: true });
    }
    this.note((part === main ? main.querySelector("h1") : part.querySelector("h2, .countdown")).textContent.trim().replace(/\s+/g, " "));
    if (!main.querySelector("[data-deadline]")) {
      this.over = true; // nothing more can come
      this.pause();
      this.show("off", false);
    }
  }

  // The deadline has passed on screen: what else would fit is the server's to say.
  async more() {
    try {
      const page = await this.page();
      const others = page?.querySelector('[aria-labelledby="others-title"]');
      if (others && !document.querySelector('[aria-labelledby="others-title"]')) document.querySelector("[data-deadline]")?.after(others);
    } catch {
      // The page already says what matters.
    }
  }
}

const root = document.querySelector("[data-live]");
if (root) new Live(root);
