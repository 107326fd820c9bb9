#!/usr/bin/env bash
# Of names of a kind those that this commit looks at: one in PARTS of them (at least one), first in an order that each commit has of its own, so that
# a few commits reach them all. sample.sh PARTS unit|threads|fuzz|contract: targets of unit tests, those that `make tsan` runs, targets of
# fuzzing, groups of cases of the contract's test.
set -euo pipefail
cd "$(dirname "$0")/.."
parts=$1
case $2 in
  unit) mapfile -t names < <(grep -hoE '^ *(railweave_test\()? *unit_[a-z_]+' tests/unit/*/CMakeLists.txt tests/unit/*/*/CMakeLists.txt | grep -oE 'unit_[a-z_]+' | sort -u) ;;
  threads) mapfile -t names < <(grep -hoE 'unit_[a-z_]+ .*LABEL unit-threads' tests/unit/*/CMakeLists.txt tests/unit/*/*/CMakeLists.txt | grep -oE '^unit_[a-z_]+' | sort -u) ;;
  fuzz) mapfile -t names < <(sed -nE 's/^ *railweave_fuzz\(([a-z_]+) .*/\1_fuzz/p' tests/fuzz/CMakeLists.txt | sort -u) ;;
  contract) mapfile -t names < <(sed -nE 's/^import ([a-z_]+_cases) .*/\1/p' tests/contract/contract_test.py | sort -u) ;;
  *) echo "sample.sh: there is no kind '$2'" >&2 && exit 2 ;;
esac
commit=$(git rev-parse HEAD 2> /dev/null || echo none)
count=$(((${#names[@]} + parts - 1) / parts))
for name in "${names[@]}"; do
  printf '%s %s\n' "$(printf '%s' "$commit $name" | sha256sum | cut -c1-16)" "$name"
done | sort | head -n "$count" | cut -d' ' -f2
