// Keeps the parts of a page that carry data-live fresh. The stream says only
// that something changed; then the page asks for itself again, naming the parts
// that are on the screen, and takes over what differs.

const state = { stream: null, timer: null, busy: false, again: false, last: 0, shown: new Set(), stale: new Set() };
const pause = 1000;      // between two refreshments
const pollEvery = 5000;  // while there is no stream
const idleEvery = 30000; // a refreshment without news, for what no stream tells

const link = document.getElementById("link");

function say(what, text) {
  if (!link || link.dataset.state === what) return;
  link.dataset.state = what;
  link.textContent = text;
}

const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const id = entry.target.id;
    if (!entry.isIntersecting) {
      state.shown.delete(id);
      continue;
    }
    state.shown.add(id);
    if (state.stale.has(id)) soon();
  }
}, { rootMargin: "100px" });

function observe() {
  for (const part of document.querySelectorAll("[data-live]")) {
    // What is empty has no area that could come into view.
    if (part.childElementCount === 0) state.shown.add(part.id);
    watcher.observe(part);
  }
}

// soon refreshes the page, but not more often than once a pause.
function soon() {
  if (state.timer !== null || document.hidden) return;
  state.timer = setTimeout(() => { state.timer = null; refresh(); }, Math.max(150, state.last + pause - Date.now()));
}

async function refresh() {
  if (state.busy) {
    state.again = true;
    return;
  }
  const parts = [...document.querySelectorAll("[data-live]")].map((e) => e.id);
  for (const id of parts) state.stale.add(id);
  const wanted = parts.filter((id) => state.shown.has(id));
  if (wanted.length === 0) return;
  state.busy = true;
  state.last = Date.now();
  try {
    const answer = await fetch(location.href, { headers: { "Ui-Regions": wanted.join(",") }, credentials: "same-origin" });
    if (answer.status === 401) {
      say("lost", "Signed out");
      location.reload();
      return;
    }
    if (answer.status === 404) {
      say("lost", "Deleted");
      return;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const id of wanted) {
      const from = fresh.getElementById(id), to = document.getElementById(id);
      if (from && to) morph(to, from);
      state.stale.delete(id);
    }
    say(state.stream?.readyState === EventSource.OPEN ? "live" : "poll", state.stream?.readyState === EventSource.OPEN ? "Live" : "Refreshed every 5 s");
  } catch {
    say("lost", "Connection lost; trying again");
  } finally {
    state.busy = false;
    if (state.again) {
      state.again = false;
      soon();
    }
  }
}

// morph makes a node like another one, and leaves alone what is equal: focus,
// selection, scroll positions, ticked boxes and opened details stay.
function morph(to, from) {
  if (to.isEqualNode(from)) return;
  for (const { name, value } of [...from.attributes]) {
    if (to.getAttribute(name) !== value) to.setAttribute(name, value);
  }
  for (const { name } of [...to.attributes]) {
    if (!from.hasAttribute(name) && name !== "open") to.removeAttribute(name);
  }
  const keyed = new Map();
  for (const child of to.children) if (child.dataset?.key) keyed.set(child.dataset.key, child);
  let at = to.firstChild;
  for (const next of [...from.childNodes]) {
    const match = next.dataset?.key ? keyed.get(next.dataset.key) : at;
    if (match && match.nodeName === next.nodeName && match.dataset?.key === next.dataset?.key) {
      if (match !== at) to.insertBefore(match, at); else at = at.nextSibling;
      if (match.nodeType === Node.ELEMENT_NODE) morph(match, next);
      else if (match.nodeValue !== next.nodeValue) match.nodeValue = next.nodeValue;
    } else {
      to.insertBefore(document.importNode(next, true), at);
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

function open() {
  if (state.stream || document.hidden) return;
  const stream = state.stream = new EventSource("/ui/live?topic=" + encodeURIComponent(document.body.dataset.topic));
  stream.addEventListener("hello", () => { say("live", "Live"); soon(); });
  stream.addEventListener("change", soon);
  stream.addEventListener("trouble", () => say("lost", "Database unavailable; trying again"));
  stream.addEventListener("error", () => {
    if (stream.readyState === EventSource.CLOSED) close();
  });
}

function close() {
  state.stream?.close();
  state.stream = null;
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) close();
  else open();
});
addEventListener("pagehide", close);
addEventListener("pageshow", (event) => { if (event.persisted) open(); });

setInterval(() => {
  if (document.hidden) return;
  open();
  const streaming = state.stream?.readyState === EventSource.OPEN;
  if (!streaming || Date.now() - state.last > idleEvery) soon();
}, pollEvery);

observe();
open();
