#!/usr/bin/env bash
# The main job, end to end, as `make demo` shows it: a fabric goes in, placed jobs come out, a restart loses nothing.
#   demo.sh BIN     runs it and leaves railweaved running
#   demo.sh --stop  stops that railweaved
# State lies in ./var (RAILWEAVE_VAR): railweaved.db, railweaved.log, railweaved.pid. RAILWEAVE_PORT chooses the port (7470).
set -euo pipefail
cd "$(dirname "$0")/.."

var=${RAILWEAVE_VAR:-var}
pid_file=$var/railweaved.pid

stop_service() {
  [ -f "$pid_file" ] || return 0
  local pid
  pid=$(cat "$pid_file")
  if [ -r "/proc/$pid/comm" ] && [ "$(cat "/proc/$pid/comm")" = railweaved ]; then
    kill -TERM "$pid"
    for _ in $(seq 100); do [ -d "/proc/$pid" ] || break; sleep 0.05; done
  fi
  rm -f "$pid_file"
}

if [ "${1:-}" = --stop ]; then
  stop_service
  exit 0
fi

bin=$1
port=${RAILWEAVE_PORT:-7470}
railweave="$bin/railweave"

start_service() {
  : > "$var"/railweaved.out
  setsid "$bin/railweaved" --listen "127.0.0.1:$port" --store "$var"/railweaved.db \
    > "$var"/railweaved.out 2>> "$var"/railweaved.log < /dev/null &
  echo $! > "$pid_file"
  for _ in $(seq 200); do
    if grep -q 'listens at' "$var"/railweaved.out; then
      RAILWEAVE_URL=$(sed -n 's/.*listens at //p' "$var"/railweaved.out)
      export RAILWEAVE_URL
      return 0
    fi
    [ -d "/proc/$(cat "$pid_file")" ] || break
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
run() {
  printf '\033[36m$ railweave %s\033[0m\n' "$*"
  "$railweave" "$@" || printf '(exit code %s)\n' "$?"
}
[ -t 1 ] || { title() { printf '\n# %s\n' "$*"; }; run() { printf '$ railweave %s\n' "$*"; "$railweave" "$@" || printf '(exit code %s)\n' "$?"; }; }

mkdir -p "$var"
stop_service
rm -f "$var"/railweaved.db "$var"/railweaved.db-* "$var"/railweaved.db.lock "$var"/railweaved.log
start_service

title "A fabric: 128 nodes x 8 GPUs on 8 rails, and racks of NVL72"
run lab generate demo --output-file "$var/demo-fabric.json"
run fabric import "$var/demo-fabric.json"
run fabric check

title "Two tenants"
run tenants put research --max-gpus 512 --description "pre-training"
run tenants put product --description "fine-tuning and serving"

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

title "Restarted: the jobs are still there"
stop_service
start_service
run jobs list
run status

printf '\nThe API listens at %s (contract: %s/openapi.yaml). `make stop` ends it.\n' "$RAILWEAVE_URL" "$RAILWEAVE_URL"
