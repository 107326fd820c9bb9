#!/usr/bin/env bash
# Debian's OpenSM on ibsim beside `railweave lab route`, on the same netlist in the same run:
#
#   opensm.sh RAILWEAVE [HOSTS|FILE]...     HOSTS: generate a full 3-tier fat tree of that many; FILE: a fabric file
#   ENGINES="ftree updn" opensm.sh ...      OpenSM's engines (dfsssp, nue, minhop ... too)
#
# OpenSM's routing phase is what its log says passed between "building routing with" and "tables configured"; it
# includes handing the tables to its sender, not the time switches take. Whole: from its start to SUBNET UP.
# Exit code 77: a tool is missing.
set -euo pipefail
railweave=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- 3456
engines=${ENGINES:-ftree updn}
simulator=$(ls /usr/lib/*/umad2sim/libumad2sim.so 2>/dev/null | head -1 || true)
for tool in ibsim opensm jq; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed" >&2; exit 77; }
done
[ -n "$simulator" ] || { echo "skipped: ibsim's libumad2sim.so is not installed" >&2; exit 77; }

folder=$(mktemp -d)
sim=
finish() {
  [ -z "$sim" ] || kill "$sim" 2>/dev/null || true
  rm -rf "$folder"
}
trap finish EXIT

# run_opensm NETLIST ENGINE: leaves osm.log and dumps in $folder/out; fails where OpenSM does not come up.
run_opensm() {
  local netlist=$1 engine=$2 switches adapters ports from up=1
  rm -rf "$folder/out" && mkdir -p "$folder/out/cache" "$folder/out/dumps"
  switches=$(grep -cE '^Switch' "$netlist")
  adapters=$(grep -cE '^(Ca|Hca)' "$netlist")
  ports=$(awk '/^(Switch|Ca|Hca)/ { sum += $2 + 1 } END { print sum }' "$netlist")
  from=$(grep -m1 -E '^(Ca|Hca)' "$netlist" | cut -d'"' -f2)
  export IBSIM_SOCKNAME="railweave-$$-$RANDOM"
  mkfifo "$folder/out/console"
  exec 3<>"$folder/out/console"
  ibsim -s -N $((switches + adapters + 16)) -S $((switches + 16)) -P $((ports + 64)) "$netlist" \
    <&3 >"$folder/out/ibsim.log" 2>&1 &
  sim=$!
  for _ in $(seq 100); do
    grep -q "sim" "$folder/out/ibsim.log" 2>/dev/null && break
    sleep 0.05
  done
  sleep "$(awk "BEGIN { print 0.3 + $ports / 50000 }")"
  pushd "$folder/out" >/dev/null  # the simulator's client leaves a folder where it runs
  OSM_CACHE_DIR=$folder/out/cache OSM_TMP_DIR=$folder/out/dumps SIM_HOST=$from \
    timeout -k 5 "${OPENSM_SECONDS:-500}" env LD_PRELOAD="$simulator" \
    opensm -o -e -f "$folder/out/osm.log" -D 0x47 -d 2 -R "$engine" >"$folder/out/opensm.out" 2>&1 || up=0
  popd >/dev/null
  kill "$sim" 2>/dev/null || true
  wait "$sim" 2>/dev/null || true
  sim=
  exec 3>&-
  [ "$up" = 1 ] && grep -q 'SUBNET UP' "$folder/out/osm.log"
}

# Prints "ENGINE ROUTING_MS WHOLE_MS": the engine that OpenSM used in the end.
opensm_times() {
  awk 'function ms(clock, us,  part) { split(clock, part, ":"); return ((part[1] * 60 + part[2]) * 60 + part[3]) * 1000 + us / 1000 }
       NF >= 4 && $3 ~ /:/ { now = ms($3, $4); if (!first) first = now }
       /building routing with/ { started = now }
       /tables configured on all/ && !engine { routed = now - started; for (i = 1; i <= NF; ++i) if ($i == "tables") engine = $(i - 1) }
       /SUBNET UP/ && !up { up = now - first }
       END { printf "%s %.1f %.0f\n", engine, routed, up }' "$folder/out/osm.log"
}

printf '%-30s %-8s | %-9s %12s %10s | %12s %10s %8s | %9s %9s\n' fabric asked 'opensm' 'routing ms' 'SUBNET UP' \
  'railweave ms' 'reroute ms' ratio 'load osm' 'load here'
for what in "$@"; do
  if [ -f "$what" ]; then
    name=$(basename "$what")
    netlist=$folder/fabric.net
    # ibsim knows neither NDR nor aggregation nodes' descriptions; it reads its own netlists best as they are.
    case $what in
      *.net) cp "$what" "$netlist" ;;
      *) "$railweave" lab convert "$what" --to ibsim -O "$netlist" >/dev/null ;;
    esac
  else
    radix=$(awk "BEGIN { r = 4; while (r * r * r / 4 < $what) r += 2; print r }")
    name="3-tier fat tree, $what"
    netlist=$folder/fabric.net
    "$railweave" lab generate fat-tree --tiers 3 --radix "$radix" --hosts "$what" --nics-per-host 1 --format ibsim \
      -O "$netlist" >/dev/null
  fi
  for engine in $engines; do
    if ! run_opensm "$netlist" "$engine"; then
      printf '%-30.30s %-8s | %s\n' "$name" "$engine" "did not come up: $(tail -1 "$folder/out/opensm.out" | cut -c1-80)"
      continue
    fi
    read -r used routing up < <(opensm_times)
    against=(--against "$folder/out/dumps/opensm-lfts.dump")
    [ "$(stat -c %s "${against[1]}")" -lt 1000000000 ] || against=()  # more than lab route reads
    "$railweave" lab route "$netlist" "${against[@]}" --fail-on never -o json >"$folder/route.json"
    link=$("$railweave" lab route "$netlist" --fail-random 1 --fail-on never -o json | jq -r '.rerouteMs')
    jq -r --arg name "$name" --arg asked "$engine" --arg used "$used" --arg routing "$routing" --arg up "$up" --arg link "$link" '
      [$name, $asked, ($used + (if (.against.creditLoops // 0) > 0 then "*" else "" end)), $routing, $up, .routeMs, ($link | tonumber),
       (($routing | tonumber) / .routeMs), (.against.maxLinkLoadHosts // "-"), .maxLinkLoadHosts] | map(tostring) | join("\t")' \
      "$folder/route.json" | awk -F'\t' '{ printf "%-30.30s %-8s | %-9s %12s %10s | %12.2f %10.3f %7.0fx | %9s %9s\n", $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 }'
  done
done
echo "* its routes can wait for each other in a circle, were they all on one lane (dfsssp, nue and lash use several)"
