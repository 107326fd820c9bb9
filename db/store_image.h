// A whole store as of one moment, read only, beside a service that may be writing it: for examining, copying and backing up.
// Journal is what a service works with; this sees everything that is stored, as it is stored.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/journal.h"
#include "db/report_schema.h"
#include "db/stored.h"

namespace railweave::db {

// Rows of a table, a page at a time.
class ReportPages {
 public:
  ReportPages() = default;
  ReportPages(const ReportPages&) = delete;
  ReportPages& operator=(const ReportPages&) = delete;
  virtual ~ReportPages() = default;
  // Empty: the end.
  [[nodiscard]] virtual Result<std::vector<ReportRow>> next() = 0;
};

// Not thread-safe. Errors: those of reading the store.
class StoreImage {
 public:
  StoreImage() = default;
  StoreImage(const StoreImage&) = delete;
  StoreImage& operator=(const StoreImage&) = delete;
  virtual ~StoreImage() = default;

  struct Extent {
    std::uint64_t first_seq = 0;  // of the oldest record that should be there; 0: there is none
    std::uint64_t last_seq = 0;
  };
  [[nodiscard]] virtual const Extent& extent() const = 0;
  [[nodiscard]] virtual const std::string& location() const = 0;  // for messages

  // The next ones, ascending; empty at the end.
  [[nodiscard]] virtual Result<std::vector<StoredRecord>> records(std::uint64_t after_seq) = 0;
  [[nodiscard]] virtual Result<std::vector<std::uint64_t>> snapshots() = 0;  // newest first
  [[nodiscard]] virtual Result<std::optional<StoredSnapshot>> snapshot(std::uint64_t seq) = 0;
  [[nodiscard]] virtual Result<std::vector<std::string>> digests() = 0;
  [[nodiscard]] virtual Result<std::optional<StoredBytes>> blob(const std::string& digest) = 0;
  [[nodiscard]] virtual const ReportSchema& report_schema() const = 0;
  // Rows of one reporting table, whole, by primary key in binary order. It outlives no image; one of a table at a time.
  [[nodiscard]] virtual Result<std::unique_ptr<ReportPages>> report_pages(const std::string& table) = 0;

  // Every row of every reporting table, by table and key.
  [[nodiscard]] Result<void> reports(const std::function<Result<void>(ReportRow&&)>& visit);
};

}  // namespace railweave::db
