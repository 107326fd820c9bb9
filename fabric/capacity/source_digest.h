// A set of source groups (plane_hose.h) reduced to what can be compared and summed without its members. The fingerprint
// is the sum of 64 random bits per member, so two different sets have the same fingerprint with probability 2^-64.
#pragma once

#include <cstdint>

namespace railweave::fabric {

struct SourceDigest {
  std::uint64_t fingerprint = 0;
  std::int64_t send_mbps = 0;  // of all members
  std::int32_t groups = 0;     // number of members
  void add(const SourceDigest& other) {
    fingerprint += other.fingerprint;
    send_mbps += other.send_mbps;
    groups += other.groups;
  }
  void remove(const SourceDigest& other) {
    fingerprint -= other.fingerprint;
    send_mbps -= other.send_mbps;
    groups -= other.groups;
  }
  friend bool operator==(const SourceDigest&, const SourceDigest&) = default;
};

}  // namespace railweave::fabric
