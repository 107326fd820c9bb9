#!/usr/bin/env bash
# All tests of the console: builds it, unit tests, sizes and licences, then the browser against a real railweaved.
#   test.sh [BIN]   BIN: folder with railweaved and railweave (default ../build/release/bin)
# Screenshots of every view in both themes are left in web/screenshots. Exit code 77: Node or Chromium is missing.
set -euo pipefail
cd "$(dirname "$0")"
RAILWEAVE_BIN=$(realpath "${1:-../build/release/bin}")
export RAILWEAVE_BIN PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1
CHROMIUM=${CHROMIUM:-$(command -v chromium || true)}
export CHROMIUM
for tool in node npm; do command -v $tool > /dev/null || { echo "the console's tests need $tool (Node 20.19 or newer)" >&2; exit 77; }; done
node -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)' ||
  { echo "the console is built with Node 20.19 or newer; this is $(node --version)" >&2; exit 77; }
[ -n "$CHROMIUM" ] || { echo "the console's tests need chromium: apt-get install chromium" >&2; exit 77; }
[ -x "$RAILWEAVE_BIN/railweaved" ] || { echo "there is no railweaved in $RAILWEAVE_BIN: make build TARGETS=\"railweaved railweave\"" >&2; exit 1; }
./build.sh
npx --no-install vitest run --reporter=dot
node tests/budget.mjs
npx --no-install playwright test
