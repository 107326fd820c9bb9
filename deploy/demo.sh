#!/usr/bin/env bash
# The main job, end to end, as `make demo` shows it: a fabric goes in and is programmed, placed jobs come out, a cable is
# cut and the routes move, a restart loses nothing. The InfiniBand subnet is simulated (ibsim); the service, the tools
# that prove what it does (ibtracert) and everything they say to each other are real.
#   demo.sh BIN     runs it and leaves railweaved and the simulator running
#   demo.sh --stop  stops them
# State lies in ./var (RAILWEAVE_VAR): railweaved.db, railweaved.log, *.pid. RAILWEAVE_PORT chooses the port (7470).
set -euo pipefail
cd "$(dirname "$0")/.."

var=${RAILWEAVE_VAR:-var}

# stop_process NAME: what this script started, and nothing else.
stop_process() {
  local file=$var/$1.pid pid
  [ -f "$file" ] || return 0
  pid=$(cat "$file")
  if [ -r "/proc/$pid/cmdline" ] && tr '\0' ' ' < "/proc/$pid/cmdline" | grep -q "$1"; then
    kill -TERM "$pid" 2>/dev/null || true
    for _ in $(seq 100); do [ -d "/proc/$pid" ] || break; sleep 0.05; done
  fi
  rm -f "$file"
}
stop_all() {
  stop_process railweaved
  stop_process ibsim
}

if [ "${1:-}" = --stop ]; then
  stop_all
  exit 0
fi

bin=$(realpath "$1")
# What checks certificates shares no code with the service, so a build of the service alone leaves it out.
if [ ! -x "$bin/railweave-verify" ]; then
  cmake --build "$(dirname "$bin")" --target railweave-verify > /dev/null || {
    echo "railweave-verify cannot be built beside railweaved in $bin" >&2
    exit 1
  }
fi
port=${RAILWEAVE_PORT:-7470}
railweave="$bin/railweave"
simulator=$(ls /usr/lib/*/umad2sim/libumad2sim.so 2>/dev/null | head -1)

start_simulator() {
  local netlist=$1 devices ports
  devices=$(grep -cE '^(Switch|Hca|Ca)' "$netlist")
  ports=$(awk '/^(Switch|Hca|Ca)/ { sum += $2 + 1 } END { print sum }' "$netlist")
  export IBSIM_SOCKNAME="railweave-demo-$$"
  SIM_HOST=$(grep -m1 -E '^(Hca|Ca).*"hgx-node' "$netlist" | cut -d'"' -f2)
  export SIM_HOST
  rm -f "$var/console"
  mkfifo "$var/console"
  exec 4<> "$var/console"
  setsid ibsim -s -N $((devices + 16)) -S $((devices + 16)) -P $((ports + 64)) "$netlist" \
    <&4 > "$var/ibsim.log" 2>&1 &
  echo $! > "$var/ibsim.pid"
  for _ in $(seq 100); do grep -q 'sim>' "$var/ibsim.log" && return 0; sleep 0.05; done
  echo "the simulator did not start: see $var/ibsim.log" >&2
  exit 1
}
# Its clients may hang when they end, and leave folders where they run: under timeout, in the var folder.
simulated() { (cd "$var" && timeout -k 2 60 env LD_PRELOAD="$simulator" "$@"); }

start_service() {
  : > "$var"/railweaved.out
  (cd "$var" && exec setsid timeout -k 10 1d env LD_PRELOAD="$simulator" "$bin/railweaved" --config railweaved.toml \
    > railweaved.out 2>> railweaved.log < /dev/null 4>&-) &
  echo $! > "$var/railweaved.pid"
  for _ in $(seq 200); do
    if grep -q 'listens at' "$var"/railweaved.out; then
      RAILWEAVE_URL=$(sed -n 's/.*listens at //p' "$var"/railweaved.out)
      export RAILWEAVE_URL
      return 0
    fi
    [ -d "/proc/$(cat "$var/railweaved.pid")" ] || break
    sleep 0.05
  done
  echo "railweaved did not start:" >&2
  tail -n 3 "$var"/railweaved.log >&2
  if [ "$port" != 0 ] && grep -q 'cannot listen\|in use' "$var"/railweaved.log; then
    echo "port $port may be taken: try RAILWEAVE_PORT=0 make demo" >&2
  fi
  exit 1
}

title() { printf '\n\033[1m# %s\033[0m\n' "$*"; }
# Shows a command as one would type it, then runs it. A refusal is part of the show.
show() { printf '\033[36m$ %s\033[0m\n' "$*"; }
[ -t 1 ] || { title() { printf '\n# %s\n' "$*"; }; show() { printf '$ %s\n' "$*"; }; }
run() {
  show "railweave $*"
  "$railweave" "$@" || printf '(exit code %s)\n' "$?"
}
# wait_for FILTER SECONDS: until jq finds it true of the subnet's status.
wait_for() {
  for _ in $(seq $(($2 * 20))); do
    "$railweave" subnets show hgx-compute -o json 2>/dev/null | jq -e "$1" > /dev/null && return 0
    sleep 0.05
  done
  echo "not within $2 s: $1" >&2
  exit 1
}

# Whether the subnet's switches hold the tables that are wanted; what shows tables is printed no earlier.
programmed='.live.phase == "synced" and .live.sync.wantedDigest != null and .live.sync.appliedDigest == .live.sync.wantedDigest'

mkdir -p "$var"
stop_all
rm -f "$var"/railweaved.db "$var"/railweaved.db-* "$var"/railweaved.db.lock "$var"/railweaved.db.mark "$var"/railweaved.log
rm -rf "$var"/sys-*
cat > "$var/railweaved.toml" <<TOML
listen_port = $port
authentication = "none"
store = "railweaved.db"
[[subnet]]
name = "hgx-compute"
sweep_seconds = 2
TOML
[ ! -f web/dist/index.html ] || sed -i "1i console = \"$PWD/web/dist\"" "$var/railweaved.toml"

# HDR: the fastest that the simulator knows.
"$railweave" lab generate demo --speed HDR --format ibsim -O "$var/demo.net" > /dev/null 2>&1
start_simulator "$var/demo.net"
start_service

title "A fabric: 128 nodes x 8 GPUs on 8 rails, and racks of NVL72"
run lab generate demo --speed HDR --output-file "$var/demo.json"
run fabric import "$var/demo.json"
run fabric check

title "Its InfiniBand subnet is there (simulated), only watched so far. Railweave becomes its subnet manager"
wait_for '.live.phase == "watching"' 60
run subnets mode hgx-compute direct --reason "demo"
wait_for "$programmed" 60
run subnets show hgx-compute

title "Two tenants"
run tenants set research --max-gpus 512 --description "pre-training"
run tenants set product --description "fine-tuning and serving"

title "Three jobs: tensor groups share NVLink, data-parallel rings stay on their rail"
run jobs submit --tenant research --name llama-70b --tp 8 --pp 4 --dp 3
run jobs ranks job-000001 --limit 10
run jobs submit --tenant product --name mixture --tp 4 --ep 4 --dp 2 --pp 2
run jobs ranks job-000002 --limit 6
run jobs submit --tenant product --name long-context --tp 8 --cp 8
run jobs ranks job-000003 --limit 6
run jobs list

title "What if? Nothing is changed by asking"
run place --tenant research --tp 8 --pp 8 --dp 4
run place --tenant research --tp 36 --dp 2

title "A job that does not fit, and why"
run place --tenant research --tp 8 --pp 8 --dp 32
run place --tenant research --tp 144
run jobs submit --tenant research --name greedy --tp 8 --pp 8 --dp 7

title "A cable is cut: ibtracert walks the switches' own tables before and after"
# Two adapters of one rail under different leaves, and the cable by which the first one's leaf sends to the second.
path() { simulated ibtracert -n "$from" "$to" 2>/dev/null | tee "$var/path"; }
hops() { sed -nE 's/^From \{0x([0-9a-f]+)\}.*/\1/p; s/^\[([0-9]+)\] -> \{0x([0-9a-f]+)\}.*/\1 \2/p' "$var/path"; }
lid_of() { awk -v who="\"$1\"" '/^Ca/ { mine = index($0, who) } mine && match($0, /# lid [0-9]+/) { print substr($0, RSTART + 6, RLENGTH - 6); exit }' "$var/discovered"; }
simulated ibnetdiscover > "$var/discovered" 2>/dev/null
from=$(lid_of "hgx-node-001 mlx5_0")
to=$(lid_of "hgx-node-128 mlx5_0")
show "ibtracert -n $from $to"
path
leaf=$(hops | sed -n 2p | cut -d' ' -f2)
uplink=$(hops | sed -n 3p | cut -d' ' -f1)
show "ibsim> Unlink \"S-$leaf\"[$uplink]"
echo "Unlink \"S-$leaf\"[$uplink]" >&4
wait_for ".live.linksDown == 1 and $programmed" 60
show "ibtracert -n $from $to"
path
if [ "$(hops | sed -n 3p | cut -d' ' -f1)" = "$uplink" ]; then
  echo "the path did not move" >&2
  exit 1
fi
echo "The path moved off port $uplink of leaf $leaf."
run alarms
run events --type route.programmed --last 1
echo "ReLink \"S-$leaf\"[$uplink]" >&4
wait_for ".live.linksDown == 0 and $programmed" 60

title "A cable is to be replaced: what would that do? Then drained, until it is safe to unplug"
link=$("$railweave" links list --switch "$leaf" --limit 1000 -o json | jq -r --arg port "$leaf/$uplink" '.items[] | select(.ends[].port == $port) | .id')
run links drain "$link" --dry-run
run links drain "$link" --reason "replace the cable" --wait
run links undrain "$link"

title "A tenant is guaranteed bandwidth: what its jobs have of every link, checked by a program that shares no code"
run contracts set product --guaranteed 2 --class all-reduce
run jobs submit --tenant product --name serving --tp 8 --dp 8 --queue
run guarantees list
run guarantees links --top 3
run guarantees verify

title "A job that waits for its turn, and starts in the moment that makes room for it"
run jobs submit --tenant research --name greedy --tp 8 --pp 8 --dp 7 --queue
run queue list
run jobs cancel job-000001 --reason "makes room"
greedy=$("$railweave" jobs list --name greedy -o json | jq -r '.items[0].id')
run jobs show "$greedy"

title "Restarted: jobs, mode and routes are still there, and nothing is written again"
stop_process railweaved
start_service
wait_for "$programmed" 60
run jobs list
run subnets show hgx-compute
run status

[ ! -f web/dist/index.html ] || printf '\nThe console: %s/console\n' "$RAILWEAVE_URL"
printf '\nThe API listens at %s (contract: %s/openapi.yaml). `make stop` ends it.\n' "$RAILWEAVE_URL" "$RAILWEAVE_URL"
