// Draws the structures of a result. RDKit's library runs in a worker; without
// it, or where it cannot read a SMILES, the SMILES stays.

const hits = document.querySelector(".hits[data-drawer]");
const waiting = [...document.querySelectorAll(".structure[data-smiles]")];

if (hits && waiting.length > 0) {
  const drawer = new Worker(hits.dataset.drawer);
  const asked = new Map();
  let count = 0;
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      watcher.unobserve(entry.target);
      asked.set(++count, entry.target);
      drawer.postMessage({ id: count, smiles: entry.target.dataset.smiles, width: entry.target.classList.contains("big") ? 440 : 340, height: entry.target.classList.contains("big") ? 360 : 220 });
    }
  }, { rootMargin: "300px" });
  drawer.addEventListener("message", ({ data }) => {
    if (data.ready) {
      hits.classList.add("drawn");
      for (const place of waiting) watcher.observe(place);
      return;
    }
    const place = asked.get(data.id);
    asked.delete(data.id);
    if (data.svg) show(place, data.svg);
  });
  drawer.postMessage({ library: hits.dataset.library, binary: hits.dataset.binary });
}

// show puts a drawing in place of a SMILES, as a picture: nothing in it can run.
function show(place, svg) {
  const image = new Image();
  image.alt = place.dataset.smiles;
  image.title = place.dataset.smiles;
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  image.addEventListener("load", () => URL.revokeObjectURL(address));
  image.src = address;
  place.replaceChildren(image);
}
