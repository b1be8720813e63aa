// Shows what would match while the form is filled in. Without it there is a button that does.

const DELAY = 400; // ms after the last key

const form = document.querySelector("form[data-match]");
const box = document.querySelector("[data-match-box]");
const bar = document.querySelector("[data-match-bar]");
const said = document.querySelector("[data-match-said]");

let timer;
let running;

async function show(aloud) {
  running?.abort();
  const mine = new AbortController();
  running = mine;
  box.setAttribute("aria-busy", "true");
  try {
    const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
    const answer = await fetch(`${form.dataset.match}?${query}`, { signal: mine.signal, cache: "no-store" });
    if (answer.ok) {
      const part = new DOMParser().parseFromString(await answer.text(), "text/html");
      box.replaceChildren(...part.body.childNodes);
      bar.querySelector("[data-match-count]").textContent = box.querySelector("p").textContent.trim().replace(/\s+/g, " ");
      bar.hidden = false;
      if (aloud) said.textContent = box.querySelector("p").textContent.trim().replace(/\s+/g, " ");
    }
  } catch {
    // What stood there before stays; the button asks as well.
  } finally {
    if (running === mine) box.removeAttribute("aria-busy");
  }
}

function later() {
  clearTimeout(timer);
  timer = setTimeout(show, DELAY, true);
}

if (form && box) {
  form.addEventListener("input", later);
  form.addEventListener("change", later);
  if (!box.hasAttribute("data-match-fresh")) show(false);
}
