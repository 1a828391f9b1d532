// What every page can do: copy texts, ask before something is cancelled, keep
// times relative, lead from a strip of tasks to a task.

const clockOffset = Date.now() - Number(document.body.dataset.now);

// ago says how long before now a time was, as the server does.
function ago(at, now) {
  const seconds = Math.floor((now - at) / 1000);
  const largest = (s) => s < 60 ? s + "s" : s < 3600 ? Math.floor(s / 60) + "m" : s < 86400 ? Math.floor(s / 3600) + "h" : Math.floor(s / 86400) + "d";
  if (seconds < -1) return "in " + largest(-seconds);
  return seconds < 1 ? "now" : largest(seconds) + " ago";
}

function refreshTimes() {
  const now = Date.now() - clockOffset;
  for (const time of document.querySelectorAll("time[datetime]")) {
    const text = ago(Date.parse(time.dateTime), now);
    if (time.textContent !== text) time.textContent = text;
  }
}
setInterval(() => { if (!document.hidden) refreshTimes(); }, 5000);

document.addEventListener("click", async (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    const source = document.getElementById(copy.dataset.copy);
    let done = true;
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch { // no clipboard without https: select the text for Ctrl-C
      done = false;
      getSelection().selectAllChildren(source);
      source.focus();
    }
    copy.textContent = done ? "Copied" : "Selected: press Ctrl-C";
    setTimeout(() => { copy.textContent = "Copy"; }, 2500);
    return;
  }
  const ask = event.target.closest("[data-confirm]");
  if (ask && !confirm(ask.dataset.confirm)) {
    event.preventDefault();
    return;
  }
  const strip = event.target.closest("svg.strip");
  if (strip) {
    const cell = cellAt(strip, event);
    if (cell !== null) location.href = strip.dataset.address + cell.first;
  }
});

// cellAt is the cell of a strip under the pointer, or null.
function cellAt(strip, event) {
  const box = strip.getBoundingClientRect();
  const { side, columns, size, total } = strip.dataset;
  const scale = strip.viewBox.baseVal.width / box.width;
  const column = Math.floor((event.clientX - box.left) * scale / side);
  const row = Math.floor((event.clientY - box.top) * scale / side);
  const first = (row * columns + column) * size;
  if (column < 0 || column >= columns || first < 0 || first >= total) return null;
  return { first, last: Math.min(first + Number(size), Number(total)) - 1 };
}

document.addEventListener("mousemove", (event) => {
  const strip = event.target.closest?.("svg.strip");
  if (!strip) return;
  let title = strip.querySelector("title");
  if (!title) {
    title = document.createElementNS("http://www.w3.org/2000/svg", "title");
    strip.prepend(title);
  }
  const cell = cellAt(strip, event);
  title.textContent = cell === null ? "" : cell.first === cell.last ? "task " + cell.first : "tasks " + cell.first + " to " + cell.last;
});

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
});
