// Uploads the input of a new computation with a bar that shows how far it is,
// and chooses it in the form.

const file = document.querySelector("[data-upload]");
const place = document.getElementById("upload");
const choice = document.getElementById("f-artifact");
const form = document.getElementById("new");

function tell(text) { place.querySelector("span").textContent = text; }

function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; bytes >= 1024 && unit < units.length - 1; unit++) bytes /= 1024;
  return (unit === 0 ? bytes : bytes.toFixed(1)) + " " + units[unit];
}

file?.addEventListener("change", () => {
  const chosen = file.files[0];
  if (!chosen) return;
  const bar = place.querySelector("progress");
  const buttons = form.querySelectorAll("button");
  const finish = (text) => {
    for (const b of buttons) b.disabled = false;
    tell(text);
  };
  place.hidden = false;
  bar.value = 0;
  tell("0 of " + size(chosen.size));
  for (const b of buttons) b.disabled = true;
  const request = new XMLHttpRequest();
  request.open("POST", "/ui/api/artifacts?filename=" + encodeURIComponent(chosen.name));
  request.setRequestHeader("Content-Type", chosen.type || "application/octet-stream");
  request.responseType = "json";
  request.upload.addEventListener("progress", (e) => {
    bar.value = e.total ? e.loaded / e.total : 0;
    tell(size(e.loaded) + " of " + size(e.total));
  });
  request.addEventListener("load", () => {
    const answer = request.response;
    if (request.status !== 200 && request.status !== 201) {
      finish("Not uploaded: " + (answer?.error?.message ?? "the coordinator answered " + request.status));
      return;
    }
    bar.value = 1;
    const id = answer.metadata.uid;
    let option = [...choice.options].find((o) => o.value === id);
    if (!option) {
      option = new Option(chosen.name + " (" + size(chosen.size) + ", " + answer.spec.sha256.slice(0, 12) + ")", id);
      choice.add(option, 1);
    }
    option.selected = true;
    finish("Uploaded " + size(chosen.size));
  });
  request.addEventListener("error", () => finish("Not uploaded: the connection was lost. Choose the file again."));
  request.send(chosen);
});

document.getElementById("checked")?.focus();
document.querySelector("[aria-invalid=true]")?.focus();
