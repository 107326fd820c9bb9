// Answers what clients ask the subnet's administration. Pure: a request, who sent it, and a snapshot of the subnet in; the
// answer out.
//
// Who may see what. A requester that shows the administration's key sees all. Others see devices, ports, links, tables and paths of
// ports that they share a partition with, and of tables of partition keys their own; both ends of a path share a partition
// in either case. Management keys are in no answer.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/drivers/infiniband/administration/administered_subnet.h"
#include "fabric/drivers/infiniband/administration/sa_mad.h"

namespace railweave::fabric::infiniband {

inline constexpr std::size_t kMaxAnswerBytes = std::size_t{16} << 20U;  // of a table; with more, noResources
// Pairs of end ports that one request may ask about, and that a trusted one may; with more, noResources.
inline constexpr std::size_t kMaxPairs = std::size_t{1} << 16U, kMaxTrustedPairs = std::size_t{1} << 18U;

struct SaAnswer {
  enum class Kind : std::uint8_t {
    dropped,   // no request, or one with a wrong key
    datagram,  // `header` with `records`, which fit
    table,     // as a message of several datagrams (RmppSender), of one if that is enough
  };
  Kind kind = Kind::dropped;
  bool wrong_key = false;
  SaHeader header;
  std::vector<std::uint8_t> records;
  std::size_t record_count = 0;

  [[nodiscard]] SaStatus status() const { return static_cast<SaStatus>(header.status); }
};

// subnet: null: nothing is known yet, which is answered with `busy`.
SaAnswer administer(const AdministeredSubnet* subnet, const Mad& request, Lid requester);

// An answer of kind `datagram`.
Mad to_mad(const SaAnswer& answer);

}  // namespace railweave::fabric::infiniband
