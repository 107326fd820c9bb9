#!/usr/bin/env bash
# Unit tests of railweave-kubernetes, and `go vet`; skipped (77) where there is no Go.
#   go_test.sh [BIN_FOLDER]    with the folder of railweaved also those that ask one, each time
set -euo pipefail
cd "$(dirname "$0")/../../services/kubernetes"
command -v go > /dev/null || { echo "go is not installed"; exit 77; }
unformatted=$(gofmt -l .)
[[ -z $unformatted ]] || { echo "gofmt would change: $unformatted"; exit 1; }
go vet ./...
go test ./...
if [[ -x ${1:-}/railweaved ]]; then
  RAILWEAVE_BIN=$1 go test -count=1 -run RealService ./controller
fi
