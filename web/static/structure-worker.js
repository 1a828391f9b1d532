"use strict";
// The worker that draws structures with RDKit's library. It is told where the
// library is, says that it is ready, and turns SMILES into SVG.

let library = null;

addEventListener("message", async ({ data }) => {
  if (data.library) {
    importScripts(data.library);
    library = await initRDKitModule({ locateFile: () => data.binary });
    postMessage({ ready: true });
    return;
  }
  postMessage({ id: data.id, svg: draw(data) });
});

// draw returns a drawing, or null if the SMILES cannot be read.
function draw({ smiles, width, height }) {
  let molecule = null;
  try {
    molecule = library.get_mol(smiles);
    if (!molecule) return null;
    return molecule.get_svg_with_highlights(JSON.stringify({ width, height, clearBackground: false, bondLineWidth: 1.4 }));
  } catch {
    return null;
  } finally {
    molecule?.delete();
  }
}
