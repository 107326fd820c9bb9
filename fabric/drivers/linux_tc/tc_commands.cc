#include "fabric/drivers/linux_tc/tc_commands.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include <fmt/core.h>

#include "fabric/drivers/linux_tc/interface_name.h"

namespace railweave::fabric::linux_tc {
namespace {

Result<void> check_interface(std::string_view interface) {
  if (interface == kInterfaceVariable) return {};
  if (is_interface_name(interface)) return {};
  return fail(ErrorKind::invalid, "tc.invalid", fmt::format("'{}' is no name of an interface", interface));
}

std::string hex(unsigned value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", value);
  return text;
}

}  // namespace

Result<std::vector<std::string>> htb_commands(std::string_view interface, RateMbps link,
                                              const std::vector<TcClass>& classes) {
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid, "tc.invalid", std::move(message)); };
  if (const auto checked = check_interface(interface); !checked) return std::unexpected(checked.error());
  if (classes.empty() || classes.size() > 64) return refuse("there are 1 to 64 classes");
  std::int64_t sum = 0;
  std::set<unsigned> dscps;
  for (const TcClass& one : classes) {
    if (one.dscp > 63 || !dscps.insert(one.dscp).second) return refuse(one.name + ": its DSCP is not its own");
    if (one.rate.value() <= 0) return refuse(one.name + ": its rate is not above 0");
    if (one.ceiling.value() != 0 && one.ceiling < one.rate) return refuse(one.name + ": its ceiling is below its rate");
    if (one.ceiling > link) return refuse(one.name + ": its ceiling is above the link's rate");
    sum += one.rate.value();
  }
  if (sum > link.value()) {
    return refuse(fmt::format("the classes are promised {} Mb/s of {}", sum, link.value()));
  }
  const std::string dev = "dev " + std::string(interface);
  const auto mbit = [](RateMbps rate) { return fmt::format("{}mbit", rate.value()); };
  // What a class may send at once when the kernel comes late: HTB forgets what exceeds it, and with that the guarantee. A
  // slow link has 10 ms, as busy processors schedule no finer, up to 128 KiB; a fast one a timer tick of 1 ms. At least two
  // of the largest packets with offloads off.
  const auto burst = [](RateMbps rate) {
    constexpr std::int64_t kBytesOfMs = 125, kSlowMs = 10, kSlowMost = 131'072, kLeast = 3'200;
    const std::int64_t slow = std::min(rate.value() * kBytesOfMs * kSlowMs, kSlowMost);
    return std::to_string(std::max({kLeast, rate.value() * kBytesOfMs, slow}));
  };
  std::vector<std::string> commands;
  commands.push_back("tc qdisc replace " + dev + " root handle 1: htb default " +
                     hex(static_cast<unsigned>(classes.size() + 1)).substr(2));
  commands.push_back("tc class replace " + dev + " parent 1: classid 1:1 htb rate " + mbit(link) + " ceil " +
                     mbit(link) + " burst " + burst(link) + " cburst " + burst(link));
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const TcClass& one = classes[i];
    const RateMbps ceiling = one.ceiling.value() == 0 ? link : one.ceiling;
    const std::string id = "1:" + hex(static_cast<unsigned>(i + 2)).substr(2);
    commands.push_back(fmt::format(
        "tc class replace {} parent 1:1 classid {} htb rate {} ceil {} burst {} cburst {} prio {} quantum 3028", dev,
        id, mbit(one.rate), mbit(ceiling), burst(one.rate), burst(ceiling), std::min<unsigned>(one.priority, 7)));
    if (i + 1 == classes.size()) continue;  // the default
    commands.push_back(
        fmt::format("tc filter replace {} parent 1: protocol ip prio {} u32 match ip tos {} 0xfc flowid {}", dev,
                    10 + i, hex(one.dscp * 4U), id));
  }
  return commands;
}

Result<std::vector<std::string>> dcb_commands(std::string_view interface, const std::vector<DcbClass>& classes) {
  const auto refuse = [](std::string message) { return fail(ErrorKind::invalid, "tc.invalid", std::move(message)); };
  if (const auto checked = check_interface(interface); !checked) return std::unexpected(checked.error());
  if (classes.empty() || classes.size() > 8) return refuse("there are 1 to 8 traffic classes");
  std::array<unsigned, 8> percent{};
  std::array<bool, 8> taken{}, lossless{};
  unsigned sum = 0;
  std::string map;
  std::set<unsigned> dscps;
  for (const DcbClass& one : classes) {
    if (one.traffic_class > 7 || taken[one.traffic_class]) return refuse("a traffic class is not its own");
    if (one.dscp > 63 || !dscps.insert(one.dscp).second) return refuse("a DSCP is not its own");
    taken[one.traffic_class] = true;
    percent[one.traffic_class] = one.percent;
    lossless[one.traffic_class] = one.lossless;
    sum += one.percent;
    map += fmt::format(" {}:{}", one.dscp, one.traffic_class);
  }
  if (sum != 100) return refuse(fmt::format("the percentages sum to {} of 100", sum));
  std::string tsa, bandwidth, priorities, pfc;
  for (unsigned tc = 0; tc < 8; ++tc) {
    const std::string at = fmt::format(" {}:", tc);
    tsa += at + "ets";
    bandwidth += fmt::format("{}{}", at, percent[tc]);
    priorities += fmt::format("{}{}", at, taken[tc] ? tc : 0);
    pfc += at + (lossless[tc] ? "on" : "off");
  }
  const std::string dev = " dev " + std::string(interface);
  return std::vector<std::string>{
      "dcb ets set" + dev + " tc-tsa" + tsa + " tc-bw" + bandwidth + " prio-tc" + priorities,
      "dcb pfc set" + dev + " prio-pfc" + pfc,
      "dcb app replace" + dev + " dscp-prio" + map,
  };
}

}  // namespace railweave::fabric::linux_tc
