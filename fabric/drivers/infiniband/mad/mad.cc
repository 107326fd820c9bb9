#include "fabric/drivers/infiniband/mad/mad.h"

#include <charconv>

namespace railweave::fabric::infiniband {

namespace {

constexpr std::uint16_t kDirectionBit = 0x8000;

std::uint8_t class_version(MadClass management_class) {
  return management_class == MadClass::subnetAdministration ? 2 : 1;
}

}  // namespace

MadHeader read_header(const Mad& mad) {
  MadHeader header;
  header.management_class = static_cast<MadClass>(mad[1]);
  header.method = static_cast<MadMethod>(mad[3]);
  header.status = read_16(mad, 4);
  if (header.management_class == MadClass::subnetDirected) header.status &= static_cast<std::uint16_t>(~kDirectionBit);
  header.transaction = read_64(mad, 8);
  header.attribute = static_cast<Attribute>(read_16(mad, 16));
  header.modifier = read_32(mad, 20);
  return header;
}

void write_header(Mad& mad, const MadHeader& header) {
  mad[0] = 1;  // base version
  mad[1] = static_cast<std::uint8_t>(header.management_class);
  mad[2] = class_version(header.management_class);
  mad[3] = static_cast<std::uint8_t>(header.method);
  write_be(mad, 4, 2, header.status);
  write_be(mad, 8, 8, header.transaction);
  write_be(mad, 16, 2, static_cast<std::uint16_t>(header.attribute));
  write_be(mad, 18, 2, 0);
  write_be(mad, 20, 4, header.modifier);
}

std::string status_text(std::uint16_t status) {
  if ((status & 1U) != 0) return "busy";
  if ((status & 2U) != 0) return "redirected";
  switch (status >> 2U & 7U) {
    case 1:
      return "bad version";
    case 2:
      return "method not supported";
    case 3:
      return "attribute not supported";
    case 7:
      return "invalid value";
    default:
      break;
  }
  char digits[8];
  const auto end = std::to_chars(digits, digits + sizeof digits, status, 16).ptr;
  return "status 0x" + std::string(digits, end);
}

}  // namespace railweave::fabric::infiniband
