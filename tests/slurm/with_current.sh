#!/usr/bin/env bash
# with_current.sh BIN_FOLDER PROGRAM [ARGUMENT ...]: runs a test of Slurm on the release that build.sh built, with the SPANK plugin and the
# marker built for it, out of the build's tree. Exit code 77 where that release is not there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
build=$(cd "$1/.." && pwd)
shift
if ! slurm=$("$here/build.sh" --where); then
  echo "skipped: no current Slurm: make slurm-current"
  exit 77
fi
plugins=$build/lib/slurm-$(basename "$slurm")
mkdir -p "$plugins"
exec 9> "$plugins/lock"
flock 9
compiler=c++
command -v ccache > /dev/null && compiler="ccache c++"
plugin() { # NAME SOURCE ...
  local name=$1 objects=()
  shift
  for source in "$@"; do
    objects+=("$plugins/$name-$(basename "$source" .cc).o")
    $compiler -std=c++23 -O1 -fPIC -fvisibility=hidden -I "$tree" -isystem "$slurm/include" -c -o "${objects[-1]}" "$tree/$source"
  done
  c++ -shared -o "$plugins/$name.so" "${objects[@]}" -Wl,-z,lazy -Wl,--as-needed
}
plugin railweave_spank services/slurm/spank/plugin.cc services/slurm/ranks/{admin_comment,rank_text,step_command}.cc fabric/formats/slurm/hostlist.cc \
  fabric/base/natural_order.cc
plugin job_submit_railweave services/slurm/job_submit/plugin.cc
flock -u 9
export PATH=$slurm/bin:$slurm/sbin:$PATH RAILWEAVE_SLURM_PLUGINS=$plugins
exec "$@"
