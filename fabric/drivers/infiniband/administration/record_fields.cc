#include "fabric/drivers/infiniband/administration/record_fields.h"

#include <algorithm>
#include <array>

namespace railweave::fabric::infiniband {
namespace {

constexpr std::uint16_t at(unsigned byte, unsigned bit = 0) { return static_cast<std::uint16_t>(8 * byte + bit); }

constexpr std::array kNode = {
    RecordField{0, at(0), 16},   RecordField{2, at(4), 8},     RecordField{3, at(5), 8},    RecordField{4, at(6), 8},
    RecordField{5, at(7), 8},    RecordField{6, at(8), 64},    RecordField{7, at(16), 64},  RecordField{8, at(24), 64},
    RecordField{9, at(32), 16},  RecordField{10, at(34), 16},  RecordField{11, at(36), 32}, RecordField{12, at(40), 8},
    RecordField{13, at(41), 24}, RecordField{14, at(44), 512},
};

// The key of management (bit 3) is no component: what it is could be found out bit by bit.
constexpr std::uint8_t kCapabilityBit = 7;
constexpr std::array kPortInfo = {
    RecordField{0, at(0), 16},     RecordField{1, at(2), 8},      RecordField{4, at(12), 64},
    RecordField{5, at(20), 16},    RecordField{6, at(22), 16},    RecordField{kCapabilityBit, at(24), 32},
    RecordField{8, at(28), 16},    RecordField{9, at(30), 16},    RecordField{10, at(32), 8},
    RecordField{11, at(33), 8},    RecordField{12, at(34), 8},    RecordField{13, at(35), 8},
    RecordField{14, at(36, 0), 4}, RecordField{15, at(36, 4), 4}, RecordField{16, at(37, 0), 4},
    RecordField{17, at(37, 4), 4}, RecordField{18, at(38, 0), 2}, RecordField{20, at(38, 5), 3},
    RecordField{21, at(39, 0), 4}, RecordField{22, at(39, 4), 4}, RecordField{23, at(40, 0), 4},
    RecordField{24, at(40, 4), 4}, RecordField{25, at(41, 0), 4}, RecordField{26, at(41, 4), 4},
    RecordField{27, at(42), 8},    RecordField{28, at(43), 8},    RecordField{29, at(44), 8},
    RecordField{30, at(45, 0), 4}, RecordField{31, at(45, 4), 4}, RecordField{32, at(46, 0), 3},
    RecordField{33, at(46, 3), 5}, RecordField{34, at(47, 0), 4}, RecordField{35, at(47, 4), 1},
    RecordField{36, at(47, 5), 1}, RecordField{37, at(47, 6), 1}, RecordField{38, at(47, 7), 1},
    RecordField{42, at(54), 8},    RecordField{45, at(55, 3), 5}, RecordField{47, at(56, 3), 5},
    RecordField{48, at(57, 0), 4}, RecordField{49, at(57, 4), 4},
};

constexpr std::array kSlToVl = {RecordField{0, at(0), 16}, RecordField{1, at(2), 8}, RecordField{2, at(3), 8}};
constexpr std::array kSwitchInfo = {RecordField{0, at(0), 16}};
constexpr std::array kForwarding = {RecordField{0, at(0), 16}, RecordField{1, at(2), 16}};
constexpr std::array kSmInfo = {RecordField{0, at(0), 16}, RecordField{2, at(4), 64}, RecordField{4, at(20), 32},
                                RecordField{5, at(24, 0), 4}, RecordField{6, at(24, 4), 4}};
constexpr std::array kLink = {RecordField{0, at(0), 16}, RecordField{1, at(2), 8}, RecordField{2, at(3), 8},
                              RecordField{3, at(4), 16}};
constexpr std::array kPkeys = {RecordField{0, at(0), 16}, RecordField{1, at(2), 16}, RecordField{2, at(4), 8}};

constexpr std::array kMulticastForwarding = {RecordField{0, at(0), 16}, RecordField{1, at(2, 0), 4},
                                             RecordField{3, at(2, 7), 9}};
constexpr std::array kArbitration = {RecordField{0, at(0), 16}, RecordField{1, at(2), 8}, RecordField{2, at(3), 8}};
constexpr auto kGuids = [] {
  std::array<RecordField, 10> fields{RecordField{0, at(0), 16}, RecordField{1, at(2), 8}};
  for (std::uint8_t i = 0; i < 8; ++i) fields[2 + i] = {static_cast<std::uint8_t>(4 + i), at(8 + 8U * i), 64};
  return fields;
}();

// Data in units of 8, 16, 32 and 64 bits are 16 bytes each.
constexpr auto kService = [] {
  std::array<RecordField, 36> fields{};
  std::size_t next = 0;
  std::uint8_t mask_bit = 7;
  const auto add = [&](unsigned bit, unsigned byte, unsigned bytes) {
    fields[next++] = {static_cast<std::uint8_t>(bit), at(byte), static_cast<std::uint16_t>(8 * bytes)};
  };
  add(0, 0, 8);
  add(1, 8, 16);
  add(2, 24, 2);
  add(4, 28, 4);
  add(5, 32, 16);
  add(6, 48, 64);
  unsigned byte = 112;
  for (const unsigned unit : {1U, 2U, 4U, 8U}) {
    for (unsigned i = 0; i < 16 / unit; ++i, byte += unit) add(mask_bit++, byte, unit);
  }
  return fields;
}();

unsigned bit_of(std::span<const std::uint8_t> bytes, unsigned at) { return bytes[at / 8] >> (7 - at % 8) & 1U; }

bool is_equal(const RecordField& field, std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  if (field.first_bit % 8 == 0 && field.bits % 8 == 0) {
    const std::size_t from = field.first_bit / 8, bytes = field.bits / 8;
    return std::ranges::equal(a.subspan(from, bytes), b.subspan(from, bytes));
  }
  for (unsigned i = field.first_bit; i < unsigned{field.first_bit} + field.bits; ++i) {
    if (bit_of(a, i) != bit_of(b, i)) return false;
  }
  return true;
}

bool has_all_bits(const RecordField& field, std::span<const std::uint8_t> has, std::span<const std::uint8_t> wanted) {
  for (unsigned i = field.first_bit; i < unsigned{field.first_bit} + field.bits; ++i) {
    if (bit_of(wanted, i) > bit_of(has, i)) return false;
  }
  return true;
}

}  // namespace

std::span<const RecordField> record_fields(SaAttribute attribute) {
  switch (attribute) {
    case SaAttribute::nodeRecord:
      return kNode;
    case SaAttribute::portInfoRecord:
      return kPortInfo;
    case SaAttribute::slToVlRecord:
      return kSlToVl;
    case SaAttribute::switchInfoRecord:
      return kSwitchInfo;
    case SaAttribute::linearForwardingTableRecord:
      return kForwarding;
    case SaAttribute::smInfoRecord:
      return kSmInfo;
    case SaAttribute::linkRecord:
      return kLink;
    case SaAttribute::pkeyTableRecord:
      return kPkeys;
    case SaAttribute::serviceRecord:
      return kService;
    case SaAttribute::multicastForwardingTableRecord:
      return kMulticastForwarding;
    case SaAttribute::vlArbitrationRecord:
      return kArbitration;
    case SaAttribute::guidInfoRecord:
      return kGuids;
    case SaAttribute::classPortInfo:
    case SaAttribute::multiPathRecord:
    case SaAttribute::notice:
    case SaAttribute::informInfo:
    case SaAttribute::informInfoRecord:
    case SaAttribute::pathRecord:
    case SaAttribute::multicastMemberRecord:
      break;
  }
  return {};
}

std::size_t record_bytes(SaAttribute attribute) {
  switch (attribute) {
    case SaAttribute::nodeRecord:
      return 112;
    case SaAttribute::portInfoRecord:
    case SaAttribute::linearForwardingTableRecord:
    case SaAttribute::multicastForwardingTableRecord:
    case SaAttribute::vlArbitrationRecord:
    case SaAttribute::guidInfoRecord:
    case SaAttribute::pkeyTableRecord:
    case SaAttribute::classPortInfo:
      return 72;
    case SaAttribute::slToVlRecord:
      return 16;
    case SaAttribute::switchInfoRecord:
      return 24;
    case SaAttribute::smInfoRecord:
      return 32;
    case SaAttribute::multicastMemberRecord:
      return 56;
    case SaAttribute::serviceRecord:
      return 176;
    case SaAttribute::linkRecord:
      return 8;
    case SaAttribute::pathRecord:
    case SaAttribute::multiPathRecord:  // which is answered with PathRecords
    case SaAttribute::informInfoRecord:
      return 64;
    case SaAttribute::informInfo:
      return 40;
    case SaAttribute::notice:  // is sent, not asked for
      break;
  }
  return 0;
}

bool has_components(SaAttribute attribute, std::span<const std::uint8_t> record, std::span<const std::uint8_t> wanted,
                    std::uint64_t component_mask, bool all_bits) {
  return std::ranges::all_of(record_fields(attribute), [&](const RecordField& field) {
    if ((component_mask >> field.mask_bit & 1U) == 0) return true;
    if (all_bits && attribute == SaAttribute::portInfoRecord && field.mask_bit == kCapabilityBit) {
      return has_all_bits(field, record, wanted);
    }
    return is_equal(field, record, wanted);
  });
}

}  // namespace railweave::fabric::infiniband
