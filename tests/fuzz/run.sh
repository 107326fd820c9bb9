#!/usr/bin/env bash
# Runs fuzz targets of a build for some seconds each, two at a time, from their corpus: run.sh BUILD SECONDS TARGET...
# A finding ends it with exit code 1 and leaves the input in BUILD/fuzz/findings. FUZZ_SEED (1) makes a run repeatable;
# another number, or 0 for one by the clock, looks elsewhere.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1
seconds=$2
findings=$build/fuzz/findings
mkdir -p "$findings"
run_one() {
  local target=$1 name
  name=$(basename "$target" _fuzz)
  local work=$build/fuzz/corpus-$name
  rm -rf "$work" && mkdir -p "$work"
  local seeds=()
  [ ! -d "tests/fuzz/corpus/$name" ] || seeds=("tests/fuzz/corpus/$name")
  if "$target" -seed="${FUZZ_SEED:-1}" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$findings/$name-" "$work" ${seeds[@]+"${seeds[@]}"} > "$work.log" 2>&1; then
    echo "$name: $(grep -oE 'number_of_executed_units: [0-9]+' "$work.log"), nothing found"
  else
    echo "$name: FAILED" && tail -n 30 "$work.log"
    return 1
  fi
}
export -f run_one
export build seconds findings
printf '%s\n' "${@:3}" | sed "s|^|$build/fuzz/|" | xargs -P 2 -I{} bash -c 'run_one {}'
