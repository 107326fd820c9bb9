#include "fabric/drivers/infiniband/administration/sa_mad.h"

namespace railweave::fabric::infiniband {

SaHeader read_sa_header(const Mad& mad) {
  SaHeader header;
  header.base_version = read_8(mad, 0);
  header.class_version = read_8(mad, 2);
  header.method = read_8(mad, 3);
  header.status = read_16(mad, 4);
  header.transaction = read_64(mad, 8);
  header.attribute = read_16(mad, 16);
  header.modifier = read_32(mad, 20);
  header.rmpp = {.version = read_8(mad, 24),
                 .type = static_cast<RmppType>(read_8(mad, 25)),
                 .flags = read_bits(mad, 26, 0, 3),
                 .status = read_8(mad, 27),
                 .segment = read_32(mad, 28),
                 .length = read_32(mad, 32)};
  header.key = read_64(mad, 36);
  header.record_offset = read_16(mad, 44);
  header.component_mask = read_64(mad, 48);
  return header;
}

void write_sa_header(Mad& mad, const SaHeader& header) {
  constexpr std::uint8_t kNoResponseTime = 0x1f;  // the receiver's own timeout counts
  mad[0] = header.base_version;
  mad[1] = static_cast<std::uint8_t>(MadClass::subnetAdministration);
  mad[2] = header.class_version;
  mad[3] = header.method;
  write_be(mad, 4, 2, header.status);
  write_be(mad, 6, 2, 0);
  write_be(mad, 8, 8, header.transaction);
  write_be(mad, 16, 2, header.attribute);
  write_be(mad, 18, 2, 0);
  write_be(mad, 20, 4, header.modifier);
  write_be(mad, 24, 1, header.rmpp.version);
  write_be(mad, 25, 1, static_cast<std::uint8_t>(header.rmpp.type));
  write_bits(mad, 26, 3, 5, header.rmpp.type == RmppType::none ? 0U : kNoResponseTime);
  write_bits(mad, 26, 0, 3, header.rmpp.flags);
  write_be(mad, 27, 1, header.rmpp.status);
  write_be(mad, 28, 4, header.rmpp.segment);
  write_be(mad, 32, 4, header.rmpp.length);
  write_be(mad, 36, 8, header.key);
  write_be(mad, 44, 2, header.record_offset);
  write_be(mad, 46, 2, 0);
  write_be(mad, 48, 8, header.component_mask);
}

}  // namespace railweave::fabric::infiniband
