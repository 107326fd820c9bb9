#include <fmt/core.h>

#include "services/railweave/switch_config/switch_config.h"

namespace railweave::cli {
namespace {

// What the kernel shows of an interface: its queues, and the table of marks. Nothing that counts, or depends on the hardware.
constexpr std::string_view kShowQueues = R"(show() {
  {
    tc qdisc show dev "$1" root | sed 's/ refcnt [0-9]*//; s/ direct_packets_stat [0-9]*//; s/ direct_qlen [0-9]*//; s/ offload[^ ]*//'
    tc class show dev "$1" | sort
    tc filter show dev "$1" parent 1: | sed 's/ not_in_hw//; s/ in_hw[^ ]*//; s/ in_hw_count [0-9]*//'
    nft -s list table netdev "railweave_$1"
  } 2> /dev/null | sed 's/ *$//'
}
)";

// Routes by their destinations, whoever made them.
constexpr std::string_view kShowRoutes = R"(show() {
  if [ "${wanted-}" ]; then
    ip -4 route show
  else
    sed 's/^unreachable //; s/ .*//' "$held/wanted/$1" | while read -r destination; do ip -4 route show "$destination"; done
  fi | sed 's/ linkdown//; s/ dead//; s/ offload//; s/ rt_[a-z]*//g; s/ proto [^ ]*//; s/ *$//' | sort
}
)";

// Of an adapter the kernel knows a speed. Down is what no packet leaves by, whoever wanted that.
constexpr std::string_view kLook = R"(look() {
  state=$(cat "/sys/class/net/$1/operstate" 2> /dev/null || echo absent)
  case $state in
    up | unknown) ;;
    *) differ=$((differ + 1)); echo "$1: is $state" ;;
  esac
  [ -e "/sys/class/net/$1/device" ] && [ "$state" = up ] || return 0
  speed=$(cat "/sys/class/net/$1/speed" 2> /dev/null || echo unknown)
  [ "$speed" = "$2" ] || { differ=$((differ + 1)); echo "$1: its speed is $speed Mb/s, and not $2"; }
}
)";

std::string looks(const SwitchScript& wanted) {
  std::string text(kLook);
  for (const auto& [interface, mbps] : wanted.speeds_mbps) text += fmt::format("look {} {}\n", interface, mbps);
  return text;
}

}  // namespace

std::string check_script(const SwitchScript& wanted, bool is_of_routes) {
  std::string interfaces, shown;
  for (const std::string& interface : wanted.interfaces) interfaces += " " + interface;
  shown = is_of_routes ? " routes" : interfaces;
  return fmt::format(
      "#!/bin/sh\n"
      "# Whether this switch has what Railweave wants: what its kernel shows, beside what it shows in a network "
      "namespace\n"
      "# where the same was just configured. Changes nothing. Exit code 1: something differs, and what.\n"
      "set -eu\n"
      "held=$(mktemp -d)\n"
      "trap 'rm -rf \"$held\"' EXIT\n"
      "export held\n"
      "mkdir \"$held/wanted\" \"$held/has\"\n"
      "cat > \"$held/configure\" <<'CONFIGURATION'\n"
      "{}CONFIGURATION\n"
      "cat > \"$held/show\" <<'SHOW'\n"
      "{}SHOW\n"
      "cat > \"$held/apart\" <<'APART'\n"
      "set -eu\n"
      "ip link set lo up\n"
      "number=0\n"
      "for interface in{}; do\n"
      "  number=$((number + 1))\n"
      "  ip link add \"$interface\" type veth peer name \"rwpeer$number\"\n"
      "  ip link set \"rwpeer$number\" up\n"
      "  ip link set \"$interface\" up\n"
      "done\n"
      "sh \"$held/configure\"\n"
      ". \"$held/show\"\n"
      "wanted=1\n"
      "for one in{}; do show \"$one\" > \"$held/wanted/$one\"; done\n"
      "APART\n"
      "unshare --net sh \"$held/apart\" > \"$held/log\" 2>&1 || {{\n"
      "  cat \"$held/log\" >&2\n"
      "  echo 'this machine cannot make the configuration apart: root, veth and HTB are needed' >&2\n"
      "  exit 2\n"
      "}}\n"
      ". \"$held/show\"\n"
      "differ=0\n"
      "{}for one in{}; do\n"
      "  show \"$one\" > \"$held/has/$one\"\n"
      "  cmp -s \"$held/wanted/$one\" \"$held/has/$one\" && continue\n"
      "  differ=$((differ + 1))\n"
      "  echo \"$one: otherwise than wanted (<: wanted, >: there)\"\n"
      "  diff \"$held/wanted/$one\" \"$held/has/$one\" | grep '^[<>]' || :\n"
      "done\n"
      "[ $differ -eq 0 ] || exit 1\n"
      "echo as wanted\n",
      wanted.text, is_of_routes ? kShowRoutes : kShowQueues, interfaces, shown, looks(wanted), shown);
}

}  // namespace railweave::cli
