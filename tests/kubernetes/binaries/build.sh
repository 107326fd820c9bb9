#!/usr/bin/env bash
# Builds kube-apiserver, kube-scheduler, kube-controller-manager, kubectl and kwok from the Go module proxy into a folder of the cache
# that is named by what they are built of, and prints that folder. Does nothing where they are there already: about 7 minutes of two
# cores otherwise. `build.sh --where` only prints the folder, with exit code 77 where something is missing in it. Names of binaries after
# that: only these.
set -euo pipefail
cd "$(dirname "$0")"
if ! command -v go > /dev/null; then
  echo "go is not installed: Go 1.26 or newer builds Kubernetes" >&2
  exit 77
fi
hash=$(cat go.mod go.sum <(go env GOVERSION GOARCH) | sha256sum | cut -c1-16)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/railweave/kubernetes/$hash
version=$(sed -nE 's/^\t?(require )?k8s.io\/kubernetes (v[0-9.]+).*/\2/p' go.mod)
where=no
if [[ ${1:-} == --where ]]; then
  where=yes
  shift
fi
names=("$@")
[[ $# -gt 0 ]] || names=(kube-apiserver kube-scheduler kube-controller-manager kubectl kwok)
if [[ $where == yes ]]; then
  echo "$folder"
  for name in "${names[@]}"; do [[ -x $folder/$name ]] || exit 77; done
  exit 0
fi
mkdir -p "$folder"
polite=
[[ $(nice) -gt 0 ]] || polite="nice"
exec 9> "$folder/lock"
flock 9
minor=${version#v1.}
X=k8s.io/component-base/version
flags="-s -w -X $X.gitVersion=$version -X $X.gitMajor=1 -X $X.gitMinor=${minor%%.*}"
for name in "${names[@]}"; do
  if [[ ! -x $folder/$name ]]; then
    package=k8s.io/kubernetes/cmd/$name
    [[ $name == kwok ]] && package=sigs.k8s.io/kwok/cmd/kwok
    echo "building $name $version" >&2
    CGO_ENABLED=0 $polite go build -trimpath -mod=readonly -ldflags "$flags" -o "$folder/$name.new" "$package"
    mv "$folder/$name.new" "$folder/$name"
  fi
done
# kwok without stages does nothing, and its stages are in its module.
if [[ " ${names[*]} " == *" kwok "* && ! -s $folder/stages.yaml ]]; then
  kwok=$(go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)
  for file in "$kwok"/kustomize/stage/{node,pod}/fast/*.yaml; do
    [[ $file == */kustomization.yaml ]] || { cat "$file"; echo "---"; }
  done > "$folder/stages.new"
  mv "$folder/stages.new" "$folder/stages.yaml"
fi
echo "$folder"
