// Lines of the policy protocol: cutting a stream into them, and their words.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/base/guid.h"
#include "fabric/base/whole_number.h"

namespace railweave::fabric::opensm {

inline constexpr std::size_t kMaxProtocolLine = 512;  // bytes without the line feed

// Calls line(text, whole) for every line that ends in what was fed so far; whole is false where it was too long, and
// then text is its beginning. Keeps at most kMaxProtocolLine bytes.
class LineSplitter {
 public:
  template <class Line>
  void feed(std::string_view bytes, Line line) {
    while (!bytes.empty()) {
      const auto end = bytes.find('\n');
      const std::string_view part = bytes.substr(0, end);
      const std::size_t room = kMaxProtocolLine - kept_.size();
      whole_ = whole_ && part.size() <= room;
      kept_.append(part.substr(0, room));
      if (end == std::string_view::npos) return;
      bytes.remove_prefix(end + 1);
      line(std::string_view(kept_), whole_);
      kept_.clear();
      whole_ = true;
    }
  }
  [[nodiscard]] bool empty() const { return kept_.empty() && whole_; }

 private:
  std::string kept_;
  bool whole_ = true;
};

// Up to N words with one blank between them; none: more words, or blanks elsewhere.
template <std::size_t N>
std::optional<std::pair<std::array<std::string_view, N>, std::size_t>> words_of(std::string_view line) {
  std::array<std::string_view, N> words;
  for (std::size_t count = 0; count < N; ++count) {
    const auto blank = line.find(' ');
    words[count] = line.substr(0, blank);
    if (words[count].empty()) return std::nullopt;
    if (blank == std::string_view::npos) return std::pair(words, count + 1);
    line.remove_prefix(blank + 1);
  }
  return std::nullopt;
}

// Exactly 16 hexadecimal digits.
inline std::optional<std::uint64_t> hex_16(std::string_view text) {
  if (text.size() != 16 || text[1] == 'x' || text[1] == 'X') return std::nullopt;
  const auto guid = parse_guid(text);
  return guid ? std::optional(guid->value()) : std::nullopt;
}

}  // namespace railweave::fabric::opensm
