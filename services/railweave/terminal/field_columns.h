// Tables of fields that the user chose: -o custom-columns=NODE:.id,GPUS:.gpus.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/railweave/terminal/field_path.h"
#include "services/railweave/terminal/terminal.h"

namespace railweave::cli {

class FieldColumns {
 public:
  static Result<FieldColumns> parse(std::string_view text);

  // A row for each item of a list, or one for any other document.
  [[nodiscard]] std::string table(const Json& document, const Terminal& terminal) const;

 private:
  struct Column {
    std::string title;
    FieldPath path;
  };
  std::vector<Column> columns_;
};

// What the next command calls the document, or each item of the list, a line each: its id, else its name.
std::string names_text(const Json& document);

}  // namespace railweave::cli
