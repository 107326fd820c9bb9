#!/usr/bin/env bash
# Runs every benchmark executable of a build and keeps Google Benchmark's JSON: run.sh BUILD [FILTER] [--moment]
# --moment: each case for as short as it can be, to see that it runs, for at most 20 s per executable: large cases of some
# would take minutes, and how far each got is printed. No results are kept.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1
filter=${2:-}
moment=${3:-}
mkdir -p bench-results
stamp=$(date -u +%Y%m%dT%H%M%SZ)
for bench in "$build"/bench/bench_*; do
  [ -x "$bench" ] || continue
  name=$(basename "$bench")
  if [ "$moment" = --moment ]; then
    start=$SECONDS
    log=bench-results/$name-moment.log
    status=0
    timeout -k 5 20 "$bench" --benchmark_min_time=0.001 ${filter:+--benchmark_filter="$filter"} > "$log" 2>&1 || status=$?
    if [ "$status" -ne 0 ] && [ "$status" -ne 124 ]; then
      tail -n 20 "$log"
      echo "$name: FAILED with exit code $status"
      exit 1
    fi
    echo "$name: $(grep -cE '[0-9] (ns|us|ms|s) ' "$log") cases, $((SECONDS - start)) s$([ "$status" -eq 0 ] || echo ', not all')"
    continue
  fi
  echo "== $name"
  "$bench" ${filter:+--benchmark_filter="$filter"} --benchmark_counters_tabular=true \
    --benchmark_out="bench-results/$name-$stamp.json" --benchmark_out_format=json
done
[ "$moment" = --moment ] || echo "results: bench-results/*-$stamp.json"
