#include "fabric/generate/parameters.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"

namespace railweave::fabric {
namespace {

bool is_word(std::string_view text) {
  return text.size() <= 64 && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                  c == '.';
         });
}

// The text for an error message: short and without control characters.
std::string shown(std::string_view text) {
  static constexpr std::size_t kMaxShownBytes = 40;
  std::string result(text.substr(0, kMaxShownBytes));
  std::ranges::replace_if(result, [](char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

}  // namespace

std::optional<Ratio> parse_ratio(std::string_view text) {
  static constexpr std::uint32_t kMaxRatio = 1000;
  Ratio ratio;
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    const auto over = whole_number<std::uint32_t>(text.substr(0, colon));
    const auto under = whole_number<std::uint32_t>(text.substr(colon + 1));
    if (!over || !under) return std::nullopt;
    ratio = {*over, *under};
  } else if (const auto dot = text.find('.'); dot != std::string_view::npos) {
    const auto whole = whole_number<std::uint32_t>(text.substr(0, dot));
    const auto tenths = whole_number<std::uint32_t>(text.substr(dot + 1));
    if (!whole || !tenths || text.size() - dot != 2 || *whole > kMaxRatio) return std::nullopt;
    ratio = {*whole * 10 + *tenths, 10};
  } else {
    const auto whole = whole_number<std::uint32_t>(text);
    if (!whole) return std::nullopt;
    ratio = {*whole, 1};
  }
  if (ratio.over == 0 || ratio.under == 0 || ratio.over > kMaxRatio * 10 || ratio.under > kMaxRatio)
    return std::nullopt;
  return ratio;
}

std::optional<LinkSpec> parse_link_choice(std::string_view text) {
  if (const auto speed = parse_link_speed(text); speed && lane_rate(*speed) != RateMbps()) {
    return infiniband_link(4, *speed);
  }
  if (!text.ends_with('G')) return std::nullopt;
  const auto gbps = whole_number<std::uint32_t>(text.substr(0, text.size() - 1));
  if (!gbps || *gbps == 0 || *gbps > 3200) return std::nullopt;
  return ethernet_link(from_gbps(*gbps));
}

std::optional<std::string_view> ParameterReader::declare(std::string_view name, std::string_view meaning,
                                                         std::string_view fallback) {
  declared_.push_back({std::string(name), std::string(meaning), std::string(fallback)});
  const auto found = given_.find(name);
  return found == given_.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

void ParameterReader::refuse(std::string_view name, std::string_view value, const std::string& wanted) {
  if (error_) return;
  error_ = Error{
      ErrorKind::invalid, "generate.badParameter", "'" + shown(value) + "' is not " + wanted, std::string(name), {}};
}

std::uint32_t ParameterReader::number(std::string_view name, std::string_view meaning, std::uint32_t fallback,
                                      std::uint32_t min, std::uint32_t max) {
  const auto text = declare(name, meaning, std::to_string(fallback));
  if (!text) return fallback;
  const auto value = whole_number<std::uint32_t>(*text);
  if (value && *value >= min && *value <= max) return *value;
  refuse(name, *text, fmt::format("a number from {} to {}", min, max));
  return fallback;
}

std::optional<std::uint32_t> ParameterReader::number_or_auto(std::string_view name, std::string_view meaning,
                                                             std::uint32_t min, std::uint32_t max) {
  const auto text = declare(name, meaning, "auto");
  if (!text || *text == "auto") return std::nullopt;
  const auto value = whole_number<std::uint32_t>(*text);
  if (value && *value >= min && *value <= max) return value;
  refuse(name, *text, fmt::format("'auto' or a number from {} to {}", min, max));
  return std::nullopt;
}

Ratio ParameterReader::ratio(std::string_view name, std::string_view meaning) {
  const auto text = declare(name, meaning, "1");
  if (!text) return {};
  if (const auto value = parse_ratio(*text)) return *value;
  refuse(name, *text, "a ratio such as 2, 1.5 or 3:1");
  return {};
}

LinkSpec ParameterReader::link(std::string_view name, std::string_view meaning, std::string_view fallback) {
  const std::string_view text = declare(name, meaning, fallback).value_or(fallback);
  if (const auto value = parse_link_choice(text)) return *value;
  refuse(name, text, "an InfiniBand speed (EDR, HDR, NDR, XDR) or an Ethernet rate such as 400G");
  return infiniband_link(4, LinkSpeed::ndr);
}

LinkSpec ParameterReader::link_or(std::string_view name, std::string_view meaning, const LinkSpec& otherwise) {
  const std::string_view text = declare(name, meaning, "auto").value_or("auto");
  if (text == "auto") return otherwise;
  if (const auto value = parse_link_choice(text)) return *value;
  refuse(name, text, "'auto', an InfiniBand speed (EDR, HDR, NDR, XDR) or an Ethernet rate such as 400G");
  return otherwise;
}

std::string ParameterReader::word(std::string_view name, std::string_view meaning, std::string_view fallback) {
  const std::string_view text = declare(name, meaning, fallback).value_or(fallback);
  if (is_word(text)) return std::string(text);
  refuse(name, text, "at most 64 letters, digits, '-', '_' or '.'");
  return std::string(fallback);
}

Result<void> ParameterReader::finish() const {
  if (error_) return std::unexpected(*error_);
  for (const auto& [name, value] : given_) {
    if (std::ranges::find(declared_, name, &GenerateParameter::name) != declared_.end()) continue;
    std::string known;
    for (const auto& parameter : declared_) known += (known.empty() ? "" : ", ") + parameter.name;
    return fail(ErrorKind::invalid, "generate.unknownParameter", "there is no parameter '" + shown(name) + "'", {},
                "the parameters are " + known);
  }
  return {};
}

}  // namespace railweave::fabric
