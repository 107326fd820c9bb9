// Parameters of a generator as names and texts ("hosts" = "128"), as given on a command line. Each is declared once,
// where it is read; reading without values lists the parameters for help texts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/topology/link.h"

namespace railweave::fabric {

using GenerateParameters = std::map<std::string, std::string, std::less<>>;

struct GenerateParameter {
  std::string name;      // "hosts-per-rack"
  std::string meaning;   // one line of help
  std::string fallback;  // the default value
};

// A ratio in the form "2", "1.5" or "3:1".
struct Ratio {
  std::uint32_t over = 1;
  std::uint32_t under = 1;
};
std::optional<Ratio> parse_ratio(std::string_view text);

// "NDR" (InfiniBand, four lanes) or "400G" (Ethernet, Gb/s).
std::optional<LinkSpec> parse_link_choice(std::string_view text);

// Reads parameters by name. The first error is kept for finish(), and the parameter in error has its default.
class ParameterReader {
 public:
  explicit ParameterReader(const GenerateParameters& given) : given_(given) {}

  std::uint32_t number(std::string_view name, std::string_view meaning, std::uint32_t fallback, std::uint32_t min,
                       std::uint32_t max);
  // None if the text is "auto": the generator chooses.
  std::optional<std::uint32_t> number_or_auto(std::string_view name, std::string_view meaning, std::uint32_t min,
                                              std::uint32_t max);
  Ratio ratio(std::string_view name, std::string_view meaning);
  LinkSpec link(std::string_view name, std::string_view meaning, std::string_view fallback);
  // The same, with "auto" for `otherwise`.
  LinkSpec link_or(std::string_view name, std::string_view meaning, const LinkSpec& otherwise);
  // Letters, digits, '-', '_' and '.', at most 64.
  std::string word(std::string_view name, std::string_view meaning, std::string_view fallback);

  // The first error, or an error for the first given parameter that is not declared.
  [[nodiscard]] Result<void> finish() const;
  [[nodiscard]] const std::vector<GenerateParameter>& declared() const { return declared_; }

 private:
  [[nodiscard]] std::optional<std::string_view> declare(std::string_view name, std::string_view meaning,
                                                        std::string_view fallback);
  void refuse(std::string_view name, std::string_view value, const std::string& wanted);

  const GenerateParameters& given_;
  std::vector<GenerateParameter> declared_;
  std::optional<Error> error_;
};

}  // namespace railweave::fabric
