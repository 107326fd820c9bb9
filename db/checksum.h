// CRC-32 (zlib's) over every field, lengths included, in a fixed order and little-endian: what a store computes when it
// writes and compares when it reads, because a database file does not notice a flipped bit by itself. Against
// accidents, not against people.
#pragma once

#include <cstdint>

#include "db/journal.h"

namespace railweave::db {

std::uint32_t checksum(const Record& record);
std::uint32_t checksum(const Snapshot& snapshot);
std::uint32_t checksum(const Blob& blob);

}  // namespace railweave::db
