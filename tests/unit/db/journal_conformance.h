// What every store must do, over store_kinds().
#pragma once

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "db/journal.h"
#include "tests/unit/db/results.h"
#include "tests/unit/db/sample_records.h"
#include "tests/unit/db/store_under_test.h"

namespace railweave::db {

class JournalConformance : public ::testing::TestWithParam<StoreKind> {
 protected:
  JournalConformance() : store_(GetParam().make()) { reopen(); }

  void close() { journal_.reset(); }
  void reopen() {
    close();
    journal_ = take(store_->open());
  }
  std::vector<Record> all() {
    ReadFilter filter;
    filter.limit = 100'000;
    return take(journal_->read(filter));
  }
  std::uint64_t last() { return take(journal_->last_seq()); }

  std::unique_ptr<StoreUnderTest> store_;
  std::unique_ptr<Journal> journal_;
};

#define RAILWEAVE_CONFORMANCE_OF_EVERY_STORE(suite)                           \
  INSTANTIATE_TEST_SUITE_P(Stores, suite, ::testing::ValuesIn(store_kinds()), \
                           [](const auto& kind) { return kind.param.name; })

}  // namespace railweave::db
