#!/usr/bin/env bash
# Builds a current Slurm from Debian's source package into a folder of the cache, as Debian 12's own is too old for what its users
# do now, and prints that folder. Does nothing where it is there already: about 10 minutes of one processor otherwise. Needs what
# deploy/install-dependencies.sh --with-slurm installs. Apt's own configuration stays as it is: the list of sources is one of its own.
#   build.sh            builds it
#   build.sh --where    only prints the folder; exit code 77 where Slurm is not built there
set -euo pipefail
RELEASE=24.11.5
SUITE=trixie
SHA256=e1a5547edd212c38b5e3230a284133f777b32746551f094aaa81cc4af375e332  # of its source
folder=${XDG_CACHE_HOME:-$HOME/.cache}/railweave/slurm/$RELEASE
if [[ ${1:-} == --where ]]; then
  echo "$folder"
  [[ -x $folder/sbin/slurmctld && -x $folder/bin/sbatch ]] || exit 77
  exit 0
fi
mkdir -p "$folder"
exec 9> "$folder/lock"
flock 9
if [[ ! -x $folder/sbin/slurmctld ]]; then
  for header in munge.h lua5.1/lua.h; do
    [[ -e /usr/include/$header ]] || { echo "build.sh: $header is missing: deploy/install-dependencies.sh --with-slurm" >&2; exit 1; }
  done
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work"/{parts,lists/partial,cache/archives/partial,build}
  cat > "$work/parts/source.sources" <<END
Types: deb-src
URIs: http://deb.debian.org/debian
Suites: $SUITE
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
  cat > "$work/apt.conf" <<END
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$work/parts";
Dir::State::lists "$work/lists";
Dir::Cache "$work/cache";
APT::Sandbox::User "root";
END
  cd "$work"
  export APT_CONFIG=$work/apt.conf
  apt-get update -qq >&2
  apt-get source -qq --download-only --tar-only --only-source "slurm-wlm/$SUITE" >&2
  unset APT_CONFIG
  source=$(echo slurm-wlm_"$RELEASE".orig.tar.*)
  echo "$SHA256  $source" | sha256sum --check --quiet >&2
  tar xf "$source"
  cd build
  # Only what a cluster on one machine needs: no accounting, no REST, no graphics, no MPI.
  without=()
  for part in pmix hwloc json http-parser jwt freeipmi hdf5 rdkafka lz4 ofed ucx bpf; do without+=("--without-$part"); done
  echo "building Slurm $RELEASE into $folder" >&2
  compiler=gcc
  command -v ccache > /dev/null && compiler="ccache gcc"
  # shellcheck disable=SC2211  # there is one such folder, just unpacked
  ../slurm-*/configure --quiet --prefix="$folder" --sysconfdir="$folder/etc" --localstatedir="$folder/var" --with-munge \
    --disable-debug --disable-slurmrestd --disable-x11 --disable-pam --disable-static --disable-dependency-tracking \
    --enable-multiple-slurmd \
    "${without[@]}" CC="$compiler" CFLAGS="-O1 -g0" > "$work/configure.log" 2>&1 || { tail -20 "$work/configure.log" >&2; exit 1; }
  nice make -j"${JOBS:-1}" > "$work/make.log" 2>&1 || { tail -20 "$work/make.log" >&2; exit 1; }
  make install > "$work/install.log" 2>&1 || { tail -20 "$work/install.log" >&2; exit 1; }
fi
echo "$folder"
