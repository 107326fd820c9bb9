// A store as commands name it: sqlite:PATH or PATH, or postgresql://user@host:5432/database.
#pragma once

#include <memory>
#include <string>

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
  // Everything read, with what only this kind of store has.
  [[nodiscard]] Result<db::StoreContents> check(const db::StoreProgress& progress) const;

 private:
  bool postgres_ = false;
  std::string place_;  // the connection string, or the path
};

}  // namespace railweave::cli
