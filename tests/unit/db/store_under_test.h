// What the conformance tests need of a store: to open it again and again, to look into it behind the journal's back,
// and to damage it. Another store joins by adding its StoreKind to store_kinds().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "db/journal.h"

namespace railweave::db {

class StoreUnderTest {
 public:
  StoreUnderTest() = default;
  StoreUnderTest(const StoreUnderTest&) = delete;
  StoreUnderTest& operator=(const StoreUnderTest&) = delete;
  virtual ~StoreUnderTest() = default;

  // The one before must be gone. Warnings are added to `warnings`.
  virtual Result<std::unique_ptr<Journal>> open() = 0;

  // Rows of a SELECT that any SQL database understands, run beside the journal.
  virtual std::vector<std::vector<Value>> select(const std::string& sql) = 0;

  // While no journal is open: makes the stored payload one with other bytes, or takes the record away.
  virtual void damage_record(std::uint64_t seq) = 0;
  virtual void remove_record(std::uint64_t seq) = 0;
  virtual void damage_snapshot(std::uint64_t seq) = 0;
  virtual void damage_blob(const std::string& digest) = 0;

  std::vector<Error> warnings;
};

struct StoreKind {
  std::string name;
  std::function<std::unique_ptr<StoreUnderTest>()> make;  // an empty store
};

inline void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }

std::vector<StoreKind> store_kinds();

}  // namespace railweave::db
