// A management datagram of 256 bytes and the header that all classes share (IBA 13.4.3).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "fabric/drivers/infiniband/mad/bytes.h"

namespace railweave::fabric::infiniband {

inline constexpr std::size_t kMadBytes = 256;
inline constexpr std::size_t kMadDataOffset = 64;  // of SMPs and of PerfMgt
using Mad = std::array<std::uint8_t, kMadBytes>;

enum class MadClass : std::uint8_t {
  subnetLidRouted = 0x01,
  subnetAdministration = 0x03,
  performance = 0x04,
  subnetDirected = 0x81,
};

enum class MadMethod : std::uint8_t {
  get = 0x01,
  set = 0x02,
  trap = 0x05,
  trapRepress = 0x07,
  getResponse = 0x81,
};

enum class Attribute : std::uint16_t {
  notice = 0x0002,
  nodeDescription = 0x0010,
  nodeInfo = 0x0011,
  switchInfo = 0x0012,
  guidInfo = 0x0014,
  portInfo = 0x0015,
  pkeyTable = 0x0016,
  slToVl = 0x0017,
  vlArbitration = 0x0018,
  linearForwardingTable = 0x0019,
  multicastForwardingTable = 0x001b,
  smInfo = 0x0020,
  // of class performance
  classPortInfo = 0x0001,
  portCounters = 0x0012,
  portCountersExtended = 0x001D,
};

struct MadHeader {
  MadClass management_class = MadClass::subnetDirected;
  MadMethod method = MadMethod::get;
  std::uint16_t status = 0;  // without the direction bit of directed-route SMPs
  std::uint64_t transaction = 0;
  Attribute attribute = Attribute::nodeInfo;
  std::uint32_t modifier = 0;

  [[nodiscard]] bool is_response() const {
    return (static_cast<unsigned>(method) & 0x80U) != 0 || method == MadMethod::trapRepress;
  }
};

MadHeader read_header(const Mad& mad);
void write_header(Mad& mad, const MadHeader& header);  // versions included; leaves the rest as it is

// "busy", "redirect", "bad version", "method not supported", "attribute not supported", "invalid value", else the
// number. IBA 13.4.7: bit 0 busy, 1 redirect, 2-4 invalid field code, 8-15 class specific.
std::string status_text(std::uint16_t status);

inline AttributeBytes attribute_bytes(const Mad& mad) {
  return AttributeBytes(mad.data() + kMadDataOffset, std::size_t{64});
}
inline AttributeSpace attribute_space(Mad& mad) { return AttributeSpace(mad.data() + kMadDataOffset, std::size_t{64}); }

}  // namespace railweave::fabric::infiniband
