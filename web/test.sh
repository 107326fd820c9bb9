#!/usr/bin/env bash
# The tests of the console: builds it, unit tests, sizes and licences, then the browser against a real railweaved.
#   test.sh [BIN [PART...]]   BIN: folder with railweaved and railweave (default ../build/release/bin)
#                             PART: build, unit, budget, or a file of tests/ without .spec.ts; default: all of them
# Screenshots of every view in both themes are left in web/screenshots. Exit code 77: what a part needs is missing.
set -euo pipefail
RAILWEAVE_BIN=$(realpath -m "${1:-$(dirname "$0")/../build/release/bin}")
cd "$(dirname "$0")"
export RAILWEAVE_BIN PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm_config_update_notifier=false
CHROMIUM=${CHROMIUM:-$(command -v chromium || true)}
export CHROMIUM
shift || true
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(build unit budget browser)

missing() {
  echo "skipped: the console's tests need $1" >&2
  exit 77
}
source ./node.sh
node_is_new_enough || missing "Node 20.19 or newer: deploy/install-dependencies.sh"

browser() {
  [ -n "$CHROMIUM" ] || missing "chromium: apt-get install chromium"
  [ -x "$RAILWEAVE_BIN/railweaved" ] ||
    { echo "there is no railweaved in $RAILWEAVE_BIN: make build TARGETS=\"railweaved railweave\"" >&2; exit 1; }
  # A file whose tests were all skipped says why, and that it was skipped.
  local said status=0
  said=$(npx --no-install playwright test "$@" 2>&1 | tee >(cat >&2)) || status=$?
  [ $status -eq 0 ] || exit $status
  grep -q ' passed' <<< "$said" || exit 77
}

for part in "${parts[@]}"; do
  case "$part" in
    build) ./build.sh ;;
    unit) npx --no-install vitest run --reporter=dot ;;
    budget) node tests/budget.mjs ;;
    browser) browser ;;
    *)
      [ -f "tests/$part.spec.ts" ] || { echo "there is no part $part" >&2; exit 2; }
      browser "tests/$part.spec.ts"
      ;;
  esac
done
