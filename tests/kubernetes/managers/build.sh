#!/usr/bin/env bash
# build.sh NAME: builds a manager of releases.txt from the Go module proxy, with its own go.mod and go.sum, and writes its manifests, as
# kustomize makes them, beside it; prints the folder. Does nothing where both are there already: 1 to 4 minutes of two cores otherwise.
# `build.sh --where NAME` only prints the folder, with exit code 77 where something is missing in it. Without names: all of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
command -v go > /dev/null || { echo "go is not installed: Go 1.26 or newer builds Kubernetes' managers" >&2; exit 77; }
where=no
if [[ ${1:-} == --where ]]; then
  where=yes
  shift
fi
if [[ $# -eq 0 ]]; then
  for name in $(grep -v '^#' releases.txt | cut -d' ' -f1); do ./build.sh "$name"; done
  exit 0
fi
read -r name module version program kustomization < <(grep "^$1 " releases.txt) || { echo "$1 is not in releases.txt" >&2; exit 2; }
folder=${XDG_CACHE_HOME:-$HOME/.cache}/railweave/kubernetes/managers/$name-$version
if [[ $where == yes ]]; then
  echo "$folder"
  [[ -x $folder/manager && -s $folder/manifests.yaml ]] || exit 77
  exit 0
fi
mkdir -p "$folder"
exec 9> "$folder/lock"
flock 9
if [[ ! -x $folder/manager || ! -s $folder/manifests.yaml ]]; then
  kubernetes=$(../binaries/build.sh kubectl)
  sources=$(mktemp -d)
  trap 'rm -rf "$sources"' EXIT
  # Checked against the checksum database; what it needs itself, against its own go.sum.
  directory=$(cd / && GOFLAGS=-mod=mod go mod download -json "$module@$version" | sed -nE 's/^\t"Dir": "(.*)",/\1/p')
  cp -r "$directory/." "$sources"
  chmod -R u+w "$sources"
  polite=
  [[ $(nice) -gt 0 ]] || polite="nice"
  echo "building $name $version" >&2
  (cd "$sources" && CGO_ENABLED=0 $polite go build -trimpath -mod=readonly -ldflags "-s -w" -o "$folder/manager.new" "./$program")
  "$kubernetes/kubectl" kustomize "$sources/$kustomization" > "$folder/manifests.new"
  mv "$folder/manifests.new" "$folder/manifests.yaml"
  mv "$folder/manager.new" "$folder/manager"
fi
echo "$folder"
