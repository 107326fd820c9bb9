// Fills an empty store with what another one held, all or nothing.
#pragma once

#include <cstdint>

#include "db/journal.h"

namespace railweave::db {

// Not thread-safe. What was added is gone unless finish() returned without an error.
class StoreImport {
 public:
  StoreImport() = default;
  StoreImport(const StoreImport&) = delete;
  StoreImport& operator=(const StoreImport&) = delete;
  virtual ~StoreImport() = default;

  // Records continue each other; the first of all may have any number: those before it were removed behind snapshots.
  [[nodiscard]] virtual Result<void> add(const Batch& batch) = 0;
  [[nodiscard]] virtual Result<void> add(const Snapshot& snapshot) = 0;
  // Durable when it returns.
  [[nodiscard]] virtual Result<void> finish() = 0;
};

}  // namespace railweave::db
