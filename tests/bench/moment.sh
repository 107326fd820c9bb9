#!/usr/bin/env bash
# The benchmarks that are scripts, each for a moment: that it runs and prints its figures, not what they are. moment.sh BUILD
# What needs a program that is not installed says so and is left out (77).
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1
run() {
  local name=$1 status=0 start=$SECONDS log
  shift
  log=bench-results/$name-moment.log
  mkdir -p bench-results
  timeout -k 10 120 "$@" > "$log" 2>&1 || status=$?
  case $status in
    0) echo "$name: $(wc -l < "$log") lines, $((SECONDS - start)) s" ;;
    10) echo "$name: $(wc -l < "$log") lines, $((SECONDS - start)) s, a bound was passed, of which a moment says little" ;;
    77) echo "$name: left out, $(tail -n 1 "$log")" ;;
    *)
      tail -n 20 "$log"
      echo "$name: FAILED with exit code $status"
      exit 1
      ;;
  esac
}
run certificate /usr/bin/python3 tests/bench/certificate.py "$build/bin" 32 8
run greedy_tenant /usr/bin/python3 tests/bench/greedy_tenant.py "$build/bin" 1
run postgres /usr/bin/python3 tests/bench/postgres.py "$build/tests/bench/postgres" 1 1
run slurm_overhead /usr/bin/python3 tests/bench/slurm_overhead.py "$build/bin" --nodes 64 --jobs 4
run repair env CUTS=1 ENGINES=minhop /usr/bin/python3 tests/bench/repair.py "$build/bin" 648
run outages env ENGINES=minhop PAIRS=5 /usr/bin/python3 tests/bench/outages.py "$build/bin" 648
run opensm env ENGINES=updn tests/bench/opensm.sh "$build/bin/railweave" 324
run discovery tests/bench/discovery.sh "$build" 1
run replay /usr/bin/python3 tests/bench/replay.py "$build/bin" 2 40
