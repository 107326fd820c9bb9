#!/usr/bin/env bash
# Runs every benchmark executable of a build and keeps Google Benchmark's JSON: run.sh BUILD [FILTER]
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1
filter=${2:-}
mkdir -p bench-results
stamp=$(date -u +%Y%m%dT%H%M%SZ)
for bench in "$build"/bench/bench_*; do
  [ -x "$bench" ] || continue
  name=$(basename "$bench")
  echo "== $name"
  "$bench" ${filter:+--benchmark_filter="$filter"} --benchmark_counters_tabular=true \
    --benchmark_out="bench-results/$name-$stamp.json" --benchmark_out_format=json
done
echo "results: bench-results/*-$stamp.json"
