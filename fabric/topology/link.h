// Kind, speed, width and rate of a link. Rates are data rates (4x NDR = 400 Gb/s, 4x QDR = 32 Gb/s), not signalling
// rates (InfiniBand Architecture Specification 1.7, chapter 14, PortInfo; XDR: release 1.8).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "fabric/base/enum_text.h"
#include "fabric/base/units.h"
#include "fabric/topology/ids.h"

namespace railweave::fabric {

enum class LinkKind : std::uint8_t { infiniband, ethernet, nvlink };
BOOST_DESCRIBE_ENUM(LinkKind, infiniband, ethernet, nvlink)

enum class LinkSpeed : std::uint8_t { unknown, sdr, ddr, qdr, fdr10, fdr, edr, hdr, ndr, xdr, other };
BOOST_DESCRIBE_ENUM(LinkSpeed, unknown, sdr, ddr, qdr, fdr10, fdr, edr, hdr, ndr, xdr, other)
constexpr EnumStyle enum_style(LinkSpeed) { return EnumStyle::upper_case; }
constexpr std::optional<std::string_view> enum_exception(LinkSpeed speed) {
  if (speed == LinkSpeed::unknown) return "";
  if (speed == LinkSpeed::other) return "other";
  return std::nullopt;
}

struct LinkSpec {
  LinkKind kind = LinkKind::infiniband;
  LinkSpeed speed = LinkSpeed::unknown;
  std::uint16_t width = 0;   // lanes; 0: not known
  RateMbps rate;             // of all lanes, one direction; 0: not known
  float cable_length_m = 0;  // 0: not known
  friend bool operator==(const LinkSpec&, const LinkSpec&) = default;
};

// Up to QDR 8 of 10 bits on the wire are data, from FDR10 on 64 of 66: 14.0625 Gb/s of FDR carry 13.636. The names of the
// speeds from EDR on are data rates already.
constexpr RateMbps lane_rate(LinkSpeed speed) {
  switch (speed) {
    case LinkSpeed::sdr:
      return RateMbps(2'000);
    case LinkSpeed::ddr:
      return RateMbps(4'000);
    case LinkSpeed::qdr:
      return RateMbps(8'000);
    case LinkSpeed::fdr10:
      return RateMbps(10'000);
    case LinkSpeed::fdr:
      return RateMbps(13'636);
    case LinkSpeed::edr:
      return RateMbps(25'000);
    case LinkSpeed::hdr:
      return RateMbps(50'000);
    case LinkSpeed::ndr:
      return RateMbps(100'000);
    case LinkSpeed::xdr:
      return RateMbps(200'000);
    case LinkSpeed::unknown:
    case LinkSpeed::other:
      return RateMbps(0);
  }
  return RateMbps(0);
}

// An InfiniBand link: 4, ndr -> 400 Gb/s.
constexpr LinkSpec infiniband_link(std::uint16_t width, LinkSpeed speed) {
  return {LinkKind::infiniband, speed, width, RateMbps(lane_rate(speed).value() * width), 0};
}
constexpr LinkSpec ethernet_link(RateMbps rate) { return {LinkKind::ethernet, LinkSpeed::other, 1, rate, 0}; }
constexpr LinkSpec nvlink_link(std::uint16_t width, RateMbps rate) {
  return {LinkKind::nvlink, LinkSpeed::other, width, rate, 0};
}

constexpr std::string_view to_string(LinkKind kind) { return to_text(kind); }     // "infiniband"
constexpr std::string_view to_string(LinkSpeed speed) { return to_text(speed); }  // "NDR"; "" when unknown
constexpr std::optional<LinkKind> parse_link_kind(std::string_view text) { return parse_enum<LinkKind>(text); }
std::optional<LinkSpeed> parse_link_speed(std::string_view text);  // in upper or lower case

}  // namespace railweave::fabric
