#!/usr/bin/env bash
# Unit tests of a sample of programs under sanitizers, one program after the other: a time that is over cuts the rest off, which is said and
# left to other commits; what failed until then fails. sampled.sh PRESET KIND PARTS SECONDS [of ctest]; kinds as in sample.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1 seconds=$4
mapfile -t targets < <(tests/sample.sh "$3" "$2")
shift 4
echo "$preset: ${targets[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Exit code 124: the time is over.
in_time() {
  local left=$((seconds - SECONDS))
  ((left > 0)) || return 124
  timeout -k 10 "$left" "$@"
}
failed=() reached=0
for target in "${targets[@]}"; do
  status=0
  : > "$log"
  in_time cmake --build "build/$preset" -j "$(nproc)" --target "$target" || status=$?
  if ((status == 0)); then
    in_time ctest --test-dir "build/$preset" --output-on-failure -E '\.all_seeds' -j "$(nproc)" -R "^$target\\." "$@" | tee "$log" || status=$?
  fi
  if ((status == 124)) && ! grep -q '\*\*\*' "$log"; then
    echo "$preset: $reached of ${#targets[@]} programs in $seconds s; not reached: ${targets[*]:reached}, others with another commit"
    break
  fi
  reached=$((reached + 1))
  ((status == 0)) || failed+=("$target")
done
((${#failed[@]} == 0)) || { echo "$preset: failed: ${failed[*]}" && exit 1; }
