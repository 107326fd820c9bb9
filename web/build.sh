#!/usr/bin/env bash
# Builds the console into web/dist: packages as package-lock.json pins them, types from api/openapi.yaml, then Vite.
# Packages are installed again only when the lock file changes, and the rest is done again only when a source does.
set -euo pipefail
cd "$(dirname "$0")"
source ./node.sh
node_is_new_enough || { echo "the console needs Node 20.19 or newer: deploy/install-dependencies.sh" >&2; exit 1; }
export PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm_config_update_notifier=false
if ! cmp -s package-lock.json node_modules/.installed-lock.json; then
  npm ci --no-audit --no-fund --ignore-scripts --loglevel error
  cp package-lock.json node_modules/.installed-lock.json
fi
[ "${1:-}" = --install-only ] && exit 0
npm run --silent types > /dev/null
[ "${1:-}" = --types-only ] && exit 0
sources=$(find . \( -name node_modules -o -name dist -o -name screenshots -o -name test-results \) -prune -o -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum)
[ ! -f dist/index.html ] || [ "$(cat node_modules/.built-sources 2> /dev/null)" != "$sources" ] || exit 0
npx --no-install tsc -p .
npx --no-install vite build --logLevel warn
echo "$sources" > node_modules/.built-sources
