#include "fabric/topology/link.h"

#include <algorithm>
#include <array>
#include <utility>

#include "fabric/base/lower_case.h"

namespace railweave::fabric {
namespace {

constexpr std::array<std::pair<LinkSpeed, std::string_view>, 10> kSpeeds{{{LinkSpeed::sdr, "SDR"},
                                                                          {LinkSpeed::ddr, "DDR"},
                                                                          {LinkSpeed::qdr, "QDR"},
                                                                          {LinkSpeed::fdr10, "FDR10"},
                                                                          {LinkSpeed::fdr, "FDR"},
                                                                          {LinkSpeed::edr, "EDR"},
                                                                          {LinkSpeed::hdr, "HDR"},
                                                                          {LinkSpeed::ndr, "NDR"},
                                                                          {LinkSpeed::xdr, "XDR"},
                                                                          {LinkSpeed::other, "other"}}};

}  // namespace

std::string_view to_string(LinkKind kind) {
  switch (kind) {
    case LinkKind::infiniband:
      return "infiniband";
    case LinkKind::ethernet:
      return "ethernet";
    case LinkKind::nvlink:
      return "nvlink";
  }
  return "";
}

std::string_view to_string(LinkSpeed speed) {
  for (const auto& [value, name] : kSpeeds) {
    if (value == speed) return name;
  }
  return "";
}

std::optional<LinkKind> parse_link_kind(std::string_view text) {
  for (const auto kind : {LinkKind::infiniband, LinkKind::ethernet, LinkKind::nvlink}) {
    if (text == to_string(kind)) return kind;
  }
  return std::nullopt;
}

std::optional<LinkSpeed> parse_link_speed(std::string_view text) {
  for (const auto& [value, name] : kSpeeds) {
    if (equal_ignoring_case(text, name)) return value;
  }
  return std::nullopt;
}

}  // namespace railweave::fabric
