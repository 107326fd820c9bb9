#!/usr/bin/env bash
# Linters of what clang does not read: Python (ruff), shell (shellcheck), TypeScript (biome), Go (go vet,
# staticcheck). Installs them where they are missing, from PyPI, npm and Go's proxy, of pinned versions, below ~/.cache/railweave. lint.sh [FILE...]:
# these files only (pre-commit); a linter whose language is not there, or cannot be had, is left out, which is said.
set -euo pipefail
cd "$(dirname "$0")/../.."
cache="${XDG_CACHE_HOME:-$HOME/.cache}/railweave"
BIOME=2.6.8
STATICCHECK=v0.8.2
[ $# -gt 0 ] && files=("$@") || mapfile -t files < <(git ls-files --cached --others --exclude-standard)
failed=()

# some PATTERN: of the files, those that exist and match.
some() {
  for file in "${files[@]}"; do
    [[ $file =~ $1 && -f $file ]] && echo "$file"
  done
  return 0
}
check() {
  local name=$1
  shift
  if "$@"; then echo "$name: nothing found"; else failed+=("$name"); fi
}

# Python and shell
if ! cmp -s tests/lint/requirements.txt "$cache/lint/installed.txt"; then
  echo "installing ruff and shellcheck into $cache/lint" >&2
  rm -rf "$cache/lint"
  python=$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)
  "$python" -m venv "$cache/lint"
  "$cache/lint/bin/pip" install --quiet --disable-pip-version-check --requirement tests/lint/requirements.txt
  cp tests/lint/requirements.txt "$cache/lint/installed.txt"
fi
mapfile -t python < <(some '\.py$')
[ ${#python[@]} -eq 0 ] || check "ruff, ${#python[@]} files" "$cache/lint/bin/ruff" check --quiet --force-exclude --config ruff.toml "${python[@]}"
mapfile -t shell < <(some '(\.sh|^\.ci/run)$')
[ ${#shell[@]} -eq 0 ] || check "shellcheck, ${#shell[@]} files" "$cache/lint/bin/shellcheck" --severity=warning "${shell[@]}"

# TypeScript
mapfile -t typescript < <(some '^web/(src|tests)/.*\.(ts|tsx|mjs)$')
if [ ${#typescript[@]} -gt 0 ]; then
  source web/node.sh
  if node_is_new_enough; then
    [ -x "$cache/biome-$BIOME/node_modules/.bin/biome" ] ||
      npm install --prefix "$cache/biome-$BIOME" --no-audit --no-fund --loglevel error "@biomejs/biome@$BIOME" >&2
    check "biome, ${#typescript[@]} files" bash -c 'cd web && "$0" lint --error-on-warnings --colors=off "${@#web/}"' \
      "$cache/biome-$BIOME/node_modules/.bin/biome" "${typescript[@]}"
  else
    echo "biome: left out, there is no Node 20.19 or newer (deploy/install-dependencies.sh)"
  fi
fi

# Go: whole modules, as packages are checked and not files.
mapfile -t go < <(some '^services/kubernetes/.*\.go$')
if [ ${#go[@]} -gt 0 ]; then
  if command -v go > /dev/null; then
    [ -x "$cache/staticcheck-$STATICCHECK/staticcheck" ] ||
      GOBIN="$cache/staticcheck-$STATICCHECK" go install "honnef.co/go/tools/cmd/staticcheck@$STATICCHECK" >&2
    for module in services/kubernetes services/kubernetes/scheduler; do
      [ -f "$module/go.mod" ] || continue
      # What it needs of Kubernetes takes five minutes to compile where `make kubernetes` has not.
      if [[ $module == */scheduler ]] && ! tests/kubernetes/binaries/build.sh --where kube-scheduler > /dev/null 2>&1; then
        echo "go vet and staticcheck, $module: left out, Kubernetes is not built (make kubernetes)"
        continue
      fi
      check "go vet, $module" bash -c 'cd "$0" && go vet ./...' "$module"
      check "staticcheck, $module" bash -c 'cd "$0" && "$1" ./...' "$module" "$cache/staticcheck-$STATICCHECK/staticcheck"
    done
  else
    echo "go vet, staticcheck: left out, there is no Go"
  fi
fi
[ ${#failed[@]} -eq 0 ] || { printf 'FAILED: %s\n' "${failed[@]}" >&2; exit 1; }
