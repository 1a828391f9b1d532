# shellcheck shell=bash
# What every script of hack/ begins with: strict mode, the repository's root as
# the working folder, and the places where bootstrap puts what it installs.
set -o errexit -o nounset -o pipefail

ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
cd -- "$ROOT"

CACHE=$ROOT/.cache
TOOLS=$CACHE/bin
VENV=$CACHE/venv
export PATH="$TOOLS:$PATH"

say() { printf '%s\n' "$*" >&2; }
die() { say "${0##*/}: $*"; exit 1; }
have() { command -v -- "$1" >/dev/null 2>&1; }
