// A store as commands name it: sqlite:PATH or PATH, or postgresql://user@host:5432/database.
#pragma once

#include <memory>
#include <string>

#include "db/report_rebuild.h"
#include "db/store_copy.h"
#include "db/store_image.h"
#include "db/store_import.h"

namespace railweave::cli {

class StoreName {
 public:
  explicit StoreName(std::string text);

  [[nodiscard]] std::string text() const;  // without a password
  // Read as of this moment; a service may be writing it.
  [[nodiscard]] Result<std::unique_ptr<db::StoreImage>> image() const;
  // New, or empty.
  [[nodiscard]] Result<std::unique_ptr<db::StoreImport>> import() const;
  // Of a file that is a backup: its digest (backup_digest.h). False: there is none to compare.
  [[nodiscard]] Result<bool> check_digest() const;
  [[nodiscard]] Result<void> write_digest() const;
  // Its reporting tables; no service may have it.
  [[nodiscard]] Result<std::unique_ptr<db::ReportRebuild>> rebuild() const;
  // Everything read, with what only this kind of store has.
  [[nodiscard]] Result<db::StoreContents> check(const db::StoreProgress& progress) const;

 private:
  bool postgres_ = false;
  std::string place_;  // the connection string, or the path
};

}  // namespace railweave::cli
