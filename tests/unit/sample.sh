#!/usr/bin/env bash
# The unit test targets that this commit runs under sanitizers: one in PARTS, chosen by a hash of the commit and the name,
# so that a few commits cover them all. sample.sh PARTS (1: all)
set -euo pipefail
cd "$(dirname "$0")/../.."
parts=${1:-3}
commit=$(git rev-parse HEAD 2>/dev/null || echo none)
chosen=()
for list in tests/unit/*/CMakeLists.txt; do
  name=$(grep -oE 'unit_[a-z_]+' "$list" | head -n 1) || continue  # scripts have nothing to sanitize
  hash=$(printf '%s' "$commit $name" | cksum | cut -d ' ' -f 1)
  if [ $((hash % parts)) -eq 0 ]; then chosen+=("$name"); fi
done
echo "${chosen[*]:-unit_base}"
