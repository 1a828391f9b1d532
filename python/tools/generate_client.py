#!/usr/bin/env python3
"""Generate src/scimesh_worker/client from api/openapi.yaml with openapi-python-client.

    generate_client.py [--check]

Only the operations tagged `worker` and what they refer to are generated. With
--check nothing is written, and the status is 1 if the client is out of step.
"""

from __future__ import annotations

import argparse
import filecmp
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "api" / "openapi.yaml"
CLIENT = ROOT / "python" / "src" / "scimesh_worker" / "client"
CONFIG = Path(__file__).with_name("client.yaml")
METHODS = {"get", "put", "post", "delete", "patch", "head"}


def reduced(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the part of the specification that a worker calls, as OpenAPI without unused components.

    Files are streamed by the worker itself: the generator would hold them in memory.
    """
    paths: dict[str, Any] = {}
    for path, item in spec["paths"].items():
        kept = {k: v for k, v in item.items() if k not in METHODS or ("worker" in v.get("tags", []) and _json(v))}
        if METHODS & set(kept):
            paths[path] = kept
    components: dict[str, Any] = {"securitySchemes": spec["components"]["securitySchemes"]}
    wanted = _references(paths)
    while wanted:
        _, _, kind, name = wanted.pop().split("/")
        if name in components.setdefault(kind, {}):
            continue
        components[kind][name] = spec["components"][kind][name]
        wanted |= _references(components[kind][name])
    return {"openapi": spec["openapi"], "info": spec["info"], "paths": paths, "components": components}


def _json(operation: dict[str, Any]) -> bool:
    bodies = [operation.get("requestBody", {}).get("content", {})]
    bodies += [r.get("content", {}) for r in operation["responses"].values()]
    return all(set(content) <= {"application/json"} for content in bodies)


def _references(node: object) -> set[str]:
    return set(re.findall(r"'\$ref': '([^']+)'", repr(node)))


def generate(target: Path) -> None:
    """Write the client into the folder target, which must not exist."""
    with tempfile.TemporaryDirectory() as tmp:
        spec = Path(tmp) / "worker.yaml"
        spec.write_text(yaml.safe_dump(reduced(yaml.safe_load(SPEC.read_text())), sort_keys=False))
        command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none"]
        command += ["--path", str(spec), "--config", str(CONFIG), "--output-path", str(target)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(target / ".ruff_cache", ignore_errors=True)


def differences(compared: filecmp.dircmp[str], prefix: str = "") -> list[str]:
    """Return the files that differ or are on one side alone."""
    names = compared.left_only + compared.right_only + compared.diff_files
    found = [prefix + name for name in names if name != "__pycache__"]
    for name, below in compared.subdirs.items():
        if name != "__pycache__":
            found += differences(below, f"{prefix}{name}/")
    return found


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description="Generate the client of the worker's endpoints.")
    parser.add_argument("--check", action="store_true", help="only tell whether the client is in step")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as tmp:
        fresh = Path(tmp) / "client"
        generate(fresh)
        if not check:
            shutil.rmtree(CLIENT, ignore_errors=True)
            shutil.copytree(fresh, CLIENT)
            return 0
        found = differences(filecmp.dircmp(fresh, CLIENT))
    for name in found:
        print(f"client/{name} is out of step with api/openapi.yaml; run python/tools/generate_client.py")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
