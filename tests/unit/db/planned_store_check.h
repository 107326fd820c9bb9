// Is a store exactly some whole planned batches (planned_batch.h), with at least those that were acknowledged?
#pragma once

#include <cstdint>
#include <filesystem>

namespace railweave::db {

// Opens, checks and closes the store; failures are test failures. Returns the journal's last seq.
std::uint64_t expect_planned_store(const std::filesystem::path& path, std::uint64_t seed, std::uint64_t acknowledged,
                                   std::uint64_t acknowledged_snapshot);

}  // namespace railweave::db
