#!/usr/bin/env bash
# Discovery of simulated subnets, ours beside ibnetdiscover's: discovery.sh BUILD [ROUNDS]
# Whole programs from start to end, in turns on the same ibsim. Fails where ours is not 1.5x as fast on 2,000+ nodes.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec python3 tests/bench/discovery/discovery_bench.py "$1/tests/bin/infiniband_probe" "$1/bin/railweave" "${2:-9}"
