#!/bin/sh
# Reads the tables of an InfiniBand subnet with infiniband-diags alone and writes them as tables.md says.
# collect_tables.sh > tables.txt
#   needs ibnetdiscover, dump_fts and smpquery; asks through the first adapter with a link, and writes nothing to the subnet.
# Exit code 1: a device did not answer.
set -eu
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ibnetdiscover >"$work/net" 2>"$work/errors" || { cat "$work/errors" >&2; exit 1; }
dump_fts >"$work/fts" 2>>"$work/errors" || { cat "$work/errors" >&2; exit 1; }

# Cabled ports, one per line: GUID PORT LID KIND (S: of a switch, H: of an adapter).
awk '
  /^Switch/ { split($3, id, /[-"]/); guid = id[3]; kind = "S"; for (i = 1; i < NF; i++) if ($i == "lid") lid = $(i + 1) }
  /^(Ca|Rt)/ { split($3, id, /[-"]/); guid = id[3]; kind = "H" }
  /^\[/ {
    port = $1; sub(/^\[/, "", port); sub(/\].*/, "", port)
    if (kind == "H") { rest = $0; sub(/.*# lid /, "", rest); split(rest, word, " "); lid = word[1] }
    print guid, port, lid, kind
  }' "$work/net" >"$work/ports"

# Forwarding tables.
awk '
  /^Unicast lids/ { if (guid != "") print "switch", guid, n; guid = $0; sub(/.*guid 0x/, "", guid); sub(/[^0-9a-f].*/, "", guid); n = 0 }
  /^0x[0-9a-f]+ [0-9]+ / {
    if ($2 + 0 == 255) next
    lid = 0; digits = substr($1, 3)
    for (i = 1; i <= length(digits); i++) lid = lid * 16 + index("0123456789abcdef", substr(digits, i, 1)) - 1
    print "lft", guid, lid, $2 + 0; n++
  }
  END { if (guid != "") print "switch", guid, n }' "$work/fts" >"$work/tables"

# Ports one after the other; ibnetdiscover says which are cabled.
ask() { smpquery "$@" >"$work/answer" 2>"$work/errors" || { echo "smpquery $*: $(cat "$work/answer" "$work/errors")" >&2; exit 1; }; }
while read -r guid port lid kind; do
  ask portinfo "$lid" "$port" </dev/null
  awk -v name="$guid/$port" -v kind="$kind" '
    { field = $0; sub(/:.*/, "", field); value = $0; sub(/^[^:]*:\.*/, "", value); of[field] = value }
    END {
      speeds["2.5 Gbps"] = "SDR"; speeds["5.0 Gbps"] = "DDR"; speeds["10.0 Gbps"] = "QDR"
      speeds["14.0625 Gbps"] = "FDR"; speeds["25.78125 Gbps"] = "EDR"; speeds["53.125 Gbps"] = "HDR"; speeds["106.25 Gbps"] = "NDR"
      speed = of["LinkSpeedExtActive"] in speeds ? speeds[of["LinkSpeedExtActive"]] : speeds[of["LinkSpeedActive"]]
      lanes = of["OperVLs"]; if (lanes == "VL0") lanes = "VL0-0"; sub(/^VL0-/, "", lanes)
      print "port", name, kind == "H" ? of["Lid"] + 0 : 0, kind == "H" ? of["LMC"] + 0 : 0, of["LinkWidthActive"] + 0, speed == "" ? "-" : speed, \
        of["NeighborMTU"] + 0, lanes + 1, of["VLArbLowCap"] + 0
    }' "$work/answer" >>"$work/tables"
  if ! grep -q '^OperVLs:\.*VL0$' "$work/answer"; then
    ask sl2vl "$lid" "$port" </dev/null
    awk -v guid="$guid" -v port="$port" -v kind="$kind" '
      FILENAME == ARGV[1] { if ($1 == guid) cabled[$2] = 1; next }
      /^ports: in/ {
        row = $0; gsub(/[^0-9]+/, " ", row); n = split(row, v, " ")
        if (kind == "H" ? v[1] != 0 : !(v[1] in cabled)) next
        line = "sl2vl " guid "/" port " " v[1]
        for (i = 3; i <= n; i++) line = line " " v[i] + 0
        print line
      }' "$work/ports" "$work/answer" >>"$work/tables"
    ask vlarb "$lid" "$port" </dev/null
    awk -v name="$guid/$port" '
      function hex(text,  value, i) { value = 0; for (i = 3; i <= length(text); i++) value = value * 16 + index("0123456789abcdef", tolower(substr(text, i, 1))) - 1; return value }
      / Low priority/ { part = "low" } / High priority/ { part = "high" }
      { row = $0; sub(/^[^:]*:/, "", row); gsub(/\|/, " ", row) }
      /^VL/ { n = split(row, lane, " ") }
      /^WEIGHT/ { split(row, weight, " "); for (i = 1; i <= n; i++) if (hex(weight[i]) > 0) line[part] = line[part] " " hex(lane[i]) ":" hex(weight[i]) }
      END { print "vlarb " name " high" line["high"]; print "vlarb " name " low" line["low"] }' "$work/answer" >>"$work/tables"
  fi
  [ "$kind" = H ] || continue
  ask pkeys "$lid" "$port" </dev/null
  awk -v name="$guid/$port" '
    /^ *[0-9]+:/ { row = $0; sub(/^[^:]*:/, "", row); m = split(row, key, " "); for (i = 1; i <= m; i++) all[++n] = tolower(key[i]) }
    END { while (n > 0 && all[n] == "0x0000") n--; line = "pkeys " name; for (i = 1; i <= n; i++) line = line " " all[i]; print line }' "$work/answer" >>"$work/tables"
done <"$work/ports"

echo "railweave-tables 2"
sort "$work/tables"
echo "end $(wc -l <"$work/tables" | tr -d ' ')"
