# shellcheck shell=bash disable=SC2034
# Sourced: puts a Node that the console can be built with on the PATH. Debian 12 has 18; where no newer one is installed,
# deploy/install-dependencies.sh leaves one of PyPI's here, of the version in web/requirements.txt.
node_is_new_enough() {
  command -v node > /dev/null && command -v npm > /dev/null &&
    node -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)'
}
node_from=path
node_is_new_enough || {
  node_from=pypi
  PATH="${XDG_CACHE_HOME:-$HOME/.cache}/railweave/node/programs:$PATH"
}
