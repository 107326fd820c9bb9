// An answer of the subnet's administration, before it is one datagram or several.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "fabric/drivers/infiniband/administration/sa_mad.h"

namespace railweave::fabric::infiniband {

inline constexpr std::size_t kMaxAnswerBytes = std::size_t{16} << 20U;  // of a table; with more, noResources

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

inline SaAnswer refuse(SaAnswer answer, SaStatus status) {
  answer.kind = SaAnswer::Kind::datagram;
  answer.header.status = static_cast<std::uint16_t>(status);
  answer.records.clear();
  answer.record_count = 0;
  return answer;
}

}  // namespace railweave::fabric::infiniband
