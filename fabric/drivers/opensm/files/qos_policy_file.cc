// rate_code and write_qos_policy, in the grammar of OpenSM's doc/QoS_management_in_OpenSM.txt.
#include <array>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "fabric/drivers/opensm/files/file_words.h"
#include "fabric/drivers/opensm/files/opensm_files.h"

namespace railweave::fabric::opensm {
namespace {

constexpr std::array<std::pair<unsigned, std::uint8_t>, 21> kRates{{
    {2'500, 2},    {5'000, 5},    {10'000, 3},   {14'000, 11},  {20'000, 6},   {25'000, 15},  {28'000, 19},
    {30'000, 4},   {40'000, 7},   {50'000, 20},  {56'000, 12},  {60'000, 8},   {80'000, 9},   {100'000, 16},
    {112'000, 13}, {120'000, 10}, {168'000, 14}, {200'000, 17}, {300'000, 18}, {400'000, 21}, {600'000, 22},
}};

Result<std::string> text_of(const QosLevel& level) {
  const std::string where = "QoS level '" + level.name + "'";
  if (!is_file_name_word(level.name)) {
    return file_refused("a level's name has 1 to 31 letters, digits, '_', '-' and '.'", where);
  }
  if (level.level > 15) return file_refused("a service level is from 0 to 15", where);
  std::string text = fmt::format(
      "  qos-level\n"
      "    name: {}\n"
      "    sl: {}\n",
      level.name, level.level);
  if (level.mtu_limit) {
    const auto code = mtu_code(*level.mtu_limit);
    if (!code) return file_refused("an MTU is 256, 512, 1024, 2048 or 4096 bytes", where);
    text += fmt::format("    mtu-limit: {}\n", *code);
  }
  if (level.rate_limit) {
    const auto code = rate_code(*level.rate_limit);
    if (!code) return file_refused(code.error().message, where);
    text += fmt::format("    rate-limit: {}\n", *code);
  }
  return text + "  end-qos-level\n";
}

Result<std::string> simple_rules(const QosPolicy& policy) {
  if (policy.default_level > 15) return file_refused("a service level is from 0 to 15", "default");
  std::string text = fmt::format(
      "qos-ulps\n"
      "  default : {}\n",
      policy.default_level);
  std::set<std::uint16_t> keys;
  for (const auto& [key, level] : policy.pkeys) {
    if (!is_partition_key(key) || !keys.insert(key).second) {
      return file_refused("a partition's key is from 0x0001 to 0x7fff and named once", hex_key(key));
    }
    if (level > 15) return file_refused("a service level is from 0 to 15", hex_key(key));
    text += fmt::format("  any, pkey {} : {}\n", hex_key(key), level);
  }
  return text + "end-qos-ulps\n";
}

}  // namespace

Result<std::uint8_t> rate_code(RateMbps limit) {
  std::uint8_t code = 0;
  for (const auto& [mbps, of_rate] : kRates) {
    if (mbps <= limit.value()) code = of_rate;
  }
  if (code != 0) return code;
  return fail(ErrorKind::invalid, "opensm.rate",
              fmt::format("the slowest rate there is is 2500 Mb/s, above {}", limit.value()));
}

Result<std::string> write_qos_policy(const QosPolicy& policy) {
  std::string text = "# Written by Railweave; changes made here are lost.\n";
  const auto simple = simple_rules(policy);
  if (!simple) return simple;
  text += *simple;
  if (policy.levels.empty() && policy.rules.empty()) return text;
  std::set<std::string> names;
  text += "qos-levels\n";
  for (const QosLevel& level : policy.levels) {
    const auto written = text_of(level);
    if (!written) return written;
    if (!names.insert(level.name).second) return file_refused("there are two levels of this name", level.name);
    text += *written;
  }
  if (!names.contains("DEFAULT")) return file_refused("OpenSM needs a level called DEFAULT", "QoS levels");
  text += "end-qos-levels\nqos-match-rules\n";
  for (const QosRule& rule : policy.rules) {
    const std::string where = "QoS rule '" + rule.use + "'";
    if (!is_file_value(rule.use, 60)) return file_refused("a rule's use has 1 to 60 printable characters", where);
    if (!is_partition_key(rule.pkey)) return file_refused("a partition's key is from 0x0001 to 0x7fff", where);
    if (!names.contains(rule.level)) return file_refused("there is no level '" + rule.level + "'", where);
    text += "  qos-match-rule\n    use: " + rule.use + "\n    pkey: " + hex_key(rule.pkey) +
            "\n    qos-level-name: " + rule.level + "\n  end-qos-match-rule\n";
  }
  return text + "end-qos-match-rules\n";
}

}  // namespace railweave::fabric::opensm
