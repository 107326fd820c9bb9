// The name of a JSON field that the contract has: a literal that is in none of its schemas does not compile, so that a field
// which is renamed or taken away there is found wherever it is read. Names of what others write (Slurm, Kubernetes, the
// command line's own reports) are said to be foreign.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace railweave::api {

inline constexpr auto kContractFields = std::to_array<std::string_view>({
#include "api/contract/field_names.inc"
});
static_assert(std::ranges::is_sorted(kContractFields));

class FieldName {
 public:
  consteval FieldName(const char* literal) : text_(literal) {
    if (!std::ranges::binary_search(kContractFields, text_)) throw "the contract has no field of that name";
  }
  // Valid as long as the text is.
  static constexpr FieldName foreign(std::string_view name) { return FieldName(name, Foreign()); }

  [[nodiscard]] constexpr std::string_view text() const { return text_; }
  constexpr operator std::string_view() const { return text_; }

 private:
  struct Foreign {};
  constexpr FieldName(std::string_view name, Foreign) : text_(name) {}

  std::string_view text_;
};

// "job_id" of what another tool wrote, or a name that is known only as the program runs.
constexpr FieldName foreign(std::string_view name) { return FieldName::foreign(name); }

}  // namespace railweave::api
