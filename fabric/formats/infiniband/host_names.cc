#include "fabric/formats/infiniband/host_names.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "fabric/base/lower_case.h"

namespace railweave::fabric {
namespace {

constexpr std::string_view kBlanks = " \t";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
// The next word; `rest` loses it and the blanks around it.
std::string_view next_word(std::string_view& rest) {
  const auto begin = std::min(rest.find_first_not_of(kBlanks), rest.size());
  rest.remove_prefix(begin);
  const auto word = rest.substr(0, rest.find_first_of(kBlanks));
  rest.remove_prefix(word.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  return word;
}

// "MT4129", "MT25408": what firmware calls a chip.
bool is_chip_name(std::string_view word) {
  return word.size() > 3 && word.starts_with("MT") && std::ranges::all_of(word.substr(2), is_digit);
}

// The names that Linux drivers and rdma-core's renaming rules give: mlx5_0, HCA-1, hfi1_0, ibp65s0, bnxt_re0,
// mlx5_bond_0.
bool is_device_name(std::string_view word) {
  static constexpr std::array<std::string_view, 11> kPrefixes{"mlx4_", "mlx5_", "HCA-",    "hfi1_", "qib", "mthca",
                                                              "ibp",   "roce",  "bnxt_re", "irdma", "efa_"};
  return std::ranges::any_of(kPrefixes, [&](auto prefix) { return word.starts_with(prefix); });
}

bool is_unset_host_name(std::string_view word) {
  static constexpr std::array<std::string_view, 14> kUnset{"localhost", "ubuntu", "debian", "centos",  "rocky",
                                                           "rhel",      "linux",  "fedora", "unknown", "none",
                                                           "(none)",    "node",   "host",   "server"};
  const std::string name = lower_case(word.substr(0, word.find('.')));
  return std::ranges::find(kUnset, name) != kUnset.end();
}

bool is_vendor_name(std::string_view word) {
  static constexpr std::array<std::string_view, 11> kVendors{"mellanox", "nvidia",      "connectx", "infinihost",
                                                             "voltaire", "qlogic",      "intel",    "omni-path",
                                                             "chelsio",  "infiniscale", "bluefield"};
  const std::string name = lower_case(word);
  return std::ranges::any_of(kVendors, [&](auto vendor) { return name.starts_with(vendor); });
}

}  // namespace

AdapterIdentity identify_adapter(std::string_view description) {
  using enum AdapterIdentity::Kind;
  if (description.find("Aggregation Node") != std::string_view::npos) return {aggregation, {}, {}};
  std::string_view rest = description;
  const auto first = next_word(rest);
  const auto second = next_word(rest);
  const auto device = is_device_name(second) ? second : std::string_view();
  if (first.empty() || is_unset_host_name(first)) return {generic, {}, device};
  if (is_chip_name(first) || is_vendor_name(first)) return {generic, {}, {}};
  if (description.find("Mellanox Technologies") != std::string_view::npos) return {generic, {}, {}};
  if (!rest.empty() && device.empty()) return {generic, {}, {}};
  return {named, first, second};
}

std::string switch_name(std::string_view description) {
  const auto begin = std::min(description.find_first_not_of(kBlanks), description.size());
  description.remove_prefix(begin);
  description = description.substr(0, description.find_last_not_of(kBlanks) + 1);
  if (description.starts_with("MF0;")) {
    description.remove_prefix(4);
    const auto colon = description.rfind(':');
    const auto slash = colon == std::string_view::npos ? colon : description.find('/', colon);
    if (slash == std::string_view::npos || colon == 0) return std::string(description);
    const auto unit = description.substr(slash);  // "/U1", or "/L03/U1" within a chassis
    return std::string(description.substr(0, colon)) + std::string(unit == "/U1" ? std::string_view() : unit);
  }
  if (description.find("Mellanox Technologies") != std::string_view::npos ||
      description.find("ports switch") != std::string_view::npos) {
    return {};
  }
  return std::string(description);
}

HostKind guess_host_kind(std::string_view host) {
  static constexpr std::array<std::string_view, 2> kCompute{"worker", "compute"};
  static constexpr std::array<std::string_view, 16> kManagement{
      "ufm",   "cufm",       "mgmt",  "management", "mgt",     "login",  "head",    "headnode",
      "admin", "controller", "slurm", "bastion",    "gateway", "opensm", "monitor", "master"};
  static constexpr std::array<std::string_view, 21> kStorage{
      "storage", "stor", "lustre", "oss",  "mds", "mgs",    "ost",   "mdt",    "nfs",     "cache",     "gpfs",
      "nsd",     "weka", "vast",   "ceph", "nas", "beegfs", "swift", "object", "quobyte", "flasharray"};
  const std::string name = lower_case(host);
  const auto mentions = [&](const auto& words) {
    for (std::size_t begin = 0; begin < name.size();) {
      if (!is_letter(name[begin])) {
        ++begin;
        continue;
      }
      std::size_t end = begin;
      while (end < name.size() && is_letter(name[end])) ++end;
      const auto word = std::string_view(name).substr(begin, end - begin);
      for (const auto known : words) {
        if (word == known || (known.size() >= 5 && word.find(known) != std::string_view::npos)) return true;
      }
      begin = end;
    }
    return false;
  };
  if (mentions(kCompute)) return HostKind::compute;
  if (mentions(kManagement)) return HostKind::management;
  static constexpr std::array<std::string_view, 3> kAppliances{"ai200", "ai400", "ai7990"};  // DDN's
  const bool appliance =
      std::ranges::any_of(kAppliances, [&](auto known) { return name.find(known) != std::string::npos; });
  if (appliance || mentions(kStorage)) return HostKind::storage;
  return HostKind::compute;
}

}  // namespace railweave::fabric
