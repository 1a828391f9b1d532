"""Searches with other programs, for the Go program beside this file.

Reads fingerprints of 2048 bits, one after the other, from the file --rows, and
answers with one JSON object a line for each search of each program that this
Python has: seconds are the least of the passes for each query, in processor
time where that is less. Hits are rows, or similarities for the nearest K.
"""

import argparse
import importlib
import json
import os
import sys
import tempfile
import time
import warnings

BYTES = 256

# One core, as everything here.
for variable in ("OMP_NUM_THREADS", "BLOSC_NTHREADS", "NUMEXPR_NUM_THREADS"):
    os.environ[variable] = "1"


def best_of(passes, call):
    """The least time of a call, and its answer."""
    least, answer = float("inf"), None
    for _ in range(passes):
        wall, used = time.perf_counter(), time.process_time()
        answer = call()
        wall, used = time.perf_counter() - wall, time.process_time() - used
        least = min(least, wall, used)
    return least, answer


def note(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr)


def tell(**fields):
    print(json.dumps(fields), flush=True)


def measure(peer, search, options, queries, call, hits):
    seconds, found = [], []
    for query in queries:
        least, answer = best_of(options.passes, lambda: call(query))
        seconds.append(least)
        found.append(hits(answer))
    tell(peer=peer, search=search, seconds=seconds, hits=found)


def rdkit(options, rows):
    from rdkit import DataStructs, rdBase

    fingerprints = [DataStructs.CreateFromBinaryText(row) for row in rows]
    queries = [fingerprints[i] for i in options.queries]
    peer = f"RDKit {rdBase.rdkitVersion}, BulkTanimotoSimilarity"

    def bulk(query):
        return DataStructs.BulkTanimotoSimilarity(query, fingerprints)

    measure(
        peer,
        f"threshold {options.threshold}",
        options,
        queries,
        bulk,
        lambda scores: [i for i, score in enumerate(scores) if score >= options.threshold],
    )
    for k in options.k:
        measure(peer, f"top {k}", options, queries, bulk, lambda scores: sorted(scores, reverse=True)[:k])


def fpsim2(options, rows):
    import FPSim2
    import numpy
    from FPSim2.io import chem
    from FPSim2.io.backends import pytables
    from rdkit import DataStructs

    def bins(table, _):
        counts, first, number = numpy.unique(table.col("popcnt"), return_index=True, return_counts=True)
        return [(int(c), (int(at), int(at + n))) for c, at, n in zip(counts, first, number)]

    # The fingerprints are made already; its own way to find where each number of
    # on bits begins takes minutes.
    chem.FP_FUNCS["Morgan"] = lambda fingerprint, **_: fingerprint
    pytables.calc_popcnt_bins_pytables = bins
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "fingerprints.h5")
        molecules = [(DataStructs.CreateFromBinaryText(row), i) for i, row in enumerate(rows)]
        pytables.create_db_file(molecules, file, "rdkit", "Morgan", {"radius": 2, "fpSize": 2048})
        del molecules
        engine = FPSim2.FPSim2Engine(file)
    queries = [DataStructs.CreateFromBinaryText(rows[i]) for i in options.queries]
    peer = f"FPSim2 {FPSim2.__version__}"
    measure(
        peer,
        f"threshold {options.threshold}",
        options,
        queries,
        lambda query: engine.similarity(query, threshold=options.threshold, n_workers=1),
        lambda found: sorted(int(i) for i in found["mol_id"]),
    )
    for k in options.k:
        measure(
            peer,
            f"top {k}",
            options,
            queries,
            lambda query: engine.top_k(query, k=k, threshold=0.0, n_workers=1),
            lambda found: [float(score) for score in found["coeff"]],
        )


def chemfp(options, rows):
    import chemfp

    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "fingerprints.fps")
        with open(file, "w") as out:
            out.write("#FPS1\n#num_bits=2048\n")
            out.writelines(f"{row.hex()}\t{i}\n" for i, row in enumerate(rows))
        arena = chemfp.load_fingerprints(file)
    chemfp.set_num_threads(1)
    queries = [rows[i] for i in options.queries]
    peer = f"chemfp {chemfp.__version__}"
    measure(
        peer,
        f"threshold {options.threshold}",
        options,
        queries,
        lambda query: arena.threshold_tanimoto_search_fp(query, threshold=options.threshold),
        lambda found: sorted(int(i) for i, _ in found.get_ids_and_scores()),
    )
    for k in options.k:
        measure(
            peer,
            f"top {k}",
            options,
            queries,
            lambda query: arena.knearest_tanimoto_search_fp(query, k=k, threshold=0.0),
            lambda found: [score for _, score in found.get_ids_and_scores()],
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", required=True)
    parser.add_argument("--queries", type=lambda text: [int(i) for i in text.split(",")], required=True)
    parser.add_argument("--k", type=lambda text: [int(k) for k in text.split(",")], required=True)
    parser.add_argument("--threshold", type=float, required=True)
    parser.add_argument("--passes", type=int, required=True)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with open(options.rows, "rb") as file:
        data = file.read()
    rows = [data[at : at + BYTES] for at in range(0, len(data), BYTES)]
    del data
    for module, package, run in [("rdkit", "rdkit", rdkit), ("FPSim2", "fpsim2", fpsim2), ("chemfp", "chemfp", chemfp)]:
        try:
            importlib.import_module(module)
        except ImportError:
            tell(peer=module, missing=f"pip install {package}")
            continue
        note(f"{module}: loading and searching {len(rows)} fingerprints")
        try:
            run(options, rows)
        except ImportError as error:  # chemfp 1.6 installs under Python 3, but needs Python 2
            tell(peer=module, missing=f"a version that runs here ({error})")


if __name__ == "__main__":
    main()
