// The components of records: which bits of a record each bit of a request's component mask asks about (IBA 15.2.5), and
// whether a record has what a request asks for. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "fabric/drivers/infiniband/administration/sa_mad.h"

namespace railweave::fabric::infiniband {

struct RecordField {
  std::uint8_t mask_bit = 0;
  std::uint16_t first_bit = 0;  // from the record's start, the most significant bit of a byte first
  std::uint16_t bits = 0;
};

// Empty: no records of this attribute are kept. PathRecords are made, not kept: path_records.h reads their components.
std::span<const RecordField> record_fields(SaAttribute attribute);
std::size_t record_bytes(
    SaAttribute attribute);  // in a table, so that the next record begins at a multiple of 8; 0: none

// Components that the attribute does not have are not asked about. all_bits: a capability mask asks for bits that are set, and not
// for equality (bit 31 of a request's modifier).
bool has_components(SaAttribute attribute, std::span<const std::uint8_t> record, std::span<const std::uint8_t> wanted,
                    std::uint64_t component_mask, bool all_bits);

}  // namespace railweave::fabric::infiniband
