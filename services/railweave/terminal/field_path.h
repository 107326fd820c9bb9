// Fields of JSON documents named by the user: the part of JSONPath that kubectl's users know, for -o jsonpath, -o
// custom-columns and --sort-by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/railweave/terminal/json.h"

namespace railweave::cli {

// ".spec.name", "id", ".items[*].id", ".ends[0].port", ".ends[-1]", ".labels['a.b']"; a leading $ or . may be left out.
class FieldPath {
 public:
  static Result<FieldPath> parse(std::string_view text);

  [[nodiscard]] std::vector<const Json*> find(const Json& document) const;  // in the document's order
  // What is there, joined by `between`: strings as they are, other values as JSON; `none` where there is nothing.
  [[nodiscard]] std::string text(const Json& document, std::string_view between, std::string_view none) const;

 private:
  struct Step {
    enum class Kind : unsigned char { field, index, all };
    Kind kind = Kind::field;
    std::string name;
    long index = 0;  // from the end where it is negative
  };
  std::vector<Step> steps_;
};

// Text with fields in braces: "{.items[*].id}", "{.id} has {.gpus} GPUs{\"\\n\"}",
// "{range .items[*]}{.id}{\"\\n\"}{end}". Without any brace the whole is one path.
class FieldTemplate {
 public:
  static Result<FieldTemplate> parse(std::string_view text);

  [[nodiscard]] std::string fill(const Json& document) const;

 private:
  struct Part {
    std::string literal;
    FieldPath path;
    bool is_path = false;
    bool is_range = false;  // `path` names the documents that the parts up to `end` are filled with
    std::size_t end = 0;
  };
  void fill(const Json& document, std::size_t begin, std::size_t end, std::string& out) const;

  std::vector<Part> parts_;
};

}  // namespace railweave::cli
