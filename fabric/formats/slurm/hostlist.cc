#include "fabric/formats/slurm/hostlist.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"

namespace railweave::fabric {
namespace {

constexpr std::uint64_t kMaxSuffix = 1U << 25U;  // Slurm's; digits before that belong to the prefix
constexpr std::size_t kMaxSuffixDigits = 8;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct NumberedName {
  std::string_view prefix, digits;  // digits: "" where the name ends with none
  std::uint64_t number = 0;
};

NumberedName split(std::string_view name) {
  std::size_t begin = name.size();
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  begin = std::max(begin, name.size() - std::min(name.size(), kMaxSuffixDigits));
  for (;; ++begin) {
    NumberedName parts{name.substr(0, begin), name.substr(begin), 0};
    std::from_chars(parts.digits.data(), parts.digits.data() + parts.digits.size(), parts.number);
    if (parts.number <= kMaxSuffix) return parts;
  }
}

std::string padded(std::uint64_t number, std::size_t width) {
  std::string text = std::to_string(number);
  return text.size() < width ? std::string(width - text.size(), '0') + text : text;
}

// The text of one part between commas outside of brackets, such as "dgx-[001-032,040]".
Result<void> expand_part(std::string_view part, std::size_t most, std::vector<std::string>& names) {
  const auto refuse = [&](const std::string& what) {
    return fail(ErrorKind::malformed, "slurm.badHostlist", fmt::format("'{}' is no list of names: {}", part, what));
  };
  const std::size_t open = part.find('[');
  if (open == std::string_view::npos) {
    if (part.find(']') != std::string_view::npos) return refuse("a bracket ends that did not begin");
    if (names.size() == most) return refuse(fmt::format("more than {} names", most));
    names.emplace_back(part);
    return {};
  }
  const std::size_t close = part.find(']', open);
  if (close == std::string_view::npos) return refuse("a bracket does not end");
  const std::string_view prefix = part.substr(0, open);
  const std::string_view suffix = part.substr(close + 1);
  std::string_view ranges = part.substr(open + 1, close - open - 1);
  while (true) {
    const std::string_view range = ranges.substr(0, ranges.find(','));
    const std::string_view first = range.substr(0, range.find('-'));
    const std::string_view last = first.size() == range.size() ? first : range.substr(first.size() + 1);
    const auto from = whole_number<std::uint64_t>(first), to = whole_number<std::uint64_t>(last);
    if (!from || !to || *to < *from) return refuse(fmt::format("'{}' is no range of numbers", range));
    for (std::uint64_t number = *from; number <= *to; ++number) {
      // What follows the bracket may have brackets of its own: "rack[1-2]-n[1-8]".
      const std::string name = fmt::format("{}{}{}", prefix, padded(number, first.size()), suffix);
      if (const auto done = expand_part(name, most, names); !done) return done;
    }
    if (range.size() == ranges.size()) return {};
    ranges.remove_prefix(range.size() + 1);
  }
}

}  // namespace

bool is_slurm_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-';
  });
}

std::string compress_hostlist(std::span<const std::string> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size();) {
    if (!text.empty()) text += ',';
    const NumberedName first = split(names[i]);
    if (first.digits.empty()) {
      text += names[i++];
      continue;
    }
    std::string ranges;
    std::size_t count = 0;
    while (i < names.size()) {
      const NumberedName begin = split(names[i]);
      if (begin.digits.empty() || begin.prefix != first.prefix) break;
      std::size_t last = i;
      while (last + 1 < names.size()) {
        const NumberedName next = split(names[last + 1]);
        if (next.prefix != begin.prefix || next.digits != padded(begin.number + (last + 1 - i), begin.digits.size()))
          break;
        ++last;
      }
      if (!ranges.empty()) ranges += ',';
      ranges += begin.digits;
      if (last > i) ranges.append("-").append(split(names[last]).digits);
      count += last + 1 - i;
      i = last + 1;
    }
    text += first.prefix;
    text += count == 1 ? ranges : "[" + ranges + "]";
  }
  return text;
}

Result<std::vector<std::string>> expand_hostlist(std::string_view text, std::size_t most) {
  std::vector<std::string> names;
  std::size_t depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']' && depth > 0) --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    if (i > begin) {
      if (const auto done = expand_part(text.substr(begin, i - begin), most, names); !done)
        return std::unexpected(done.error());
    }
    begin = i + 1;
  }
  return names;
}

}  // namespace railweave::fabric
