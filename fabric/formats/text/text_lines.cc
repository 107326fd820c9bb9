#include "fabric/formats/text/text_lines.h"

#include <charconv>

#include <fmt/core.h>

#include "fabric/base/byte_order_mark.h"

namespace railweave::fabric {

std::string location_text(std::string_view source, std::size_t line, std::size_t column) {
  std::string text(source);
  if (!text.empty()) text += ": ";
  return fmt::format("{}line {}, column {}", text, line, column);
}

Result<std::string_view> plain_text(std::string_view text, const ReadOptions& options) {
  if (text.size() > kMaxInputBytes) {
    return fail(ErrorKind::tooLarge, "input.tooLarge",
                fmt::format("the input has {} bytes; at most {} are read", text.size(), kMaxInputBytes),
                options.source);
  }
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    return fail(ErrorKind::malformed, "input.encoding", "the input is UTF-16; expected UTF-8",
                location_text(options.source, 1, 1), "convert it, for example with iconv -f UTF-16 -t UTF-8");
  }
  text = without_byte_order_mark(text);
  return text;
}

bool LineReader::next(std::string_view& line) {
  if (rest_.empty()) return false;
  const auto end = rest_.find('\n');
  line = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  ++number_;
  return true;
}

void LineCursor::skip_blanks() {
  while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t')) ++at_;
}

bool LineCursor::take(char c) {
  if (at_end() || line_[at_] != c) return false;
  ++at_;
  return true;
}

bool LineCursor::take(std::string_view word) {
  if (!rest().starts_with(word)) return false;
  at_ += word.size();
  return true;
}

std::string_view LineCursor::take_word() {
  const std::size_t begin = at_;
  while (at_ < line_.size() && line_[at_] != ' ' && line_[at_] != '\t') ++at_;
  return line_.substr(begin, at_ - begin);
}

std::optional<unsigned> LineCursor::take_number(unsigned max) {
  unsigned value = 0;
  const char* begin = line_.data() + at_;
  const auto [end, error] = std::from_chars(begin, line_.data() + line_.size(), value);
  if (error != std::errc() || value > max) return std::nullopt;
  at_ += static_cast<std::size_t>(end - begin);
  return value;
}

std::optional<Guid> LineCursor::take_guid_in_parentheses() {
  if (peek() != '(') return std::nullopt;
  const auto close = line_.find(')', at_);
  if (close == std::string_view::npos) return std::nullopt;
  const auto guid = parse_guid(line_.substr(at_ + 1, close - at_ - 1));
  if (guid) at_ = close + 1;
  return guid;
}

void UnreadableLines::add(std::size_t line, std::size_t column, std::string_view expected) {
  const std::string location = location_text(options_.source, line, column);
  if (count_++ == 0) {
    first_location_ = location;
    first_expected_ = expected;
  }
  if (count_ <= kMaxReported) {
    builder_.add_finding({"unreadableLine",
                          Severity::warning,
                          fmt::format("{}: expected {}; the line is left out", location, expected),
                          {location}});
  }
}

Error UnreadableLines::unreadable_error(std::string_view format) const {
  if (count_ == 0) {
    return {ErrorKind::malformed, "input.noDevice", "no device in the input; expected " + std::string(format),
            location_text(options_.source, 1, 1), "is the file complete, and is the format right?"};
  }
  return {ErrorKind::malformed, "input.unreadable",
          fmt::format("{} lines cannot be read as {}; at the first one, expected {}", count_, format, first_expected_),
          first_location_, "is the format right?"};
}

void UnreadableLines::finish() {
  if (count_ <= kMaxReported) return;
  builder_.add_finding({"unreadableLine",
                        Severity::warning,
                        fmt::format("{} further lines cannot be read and are left out", count_ - kMaxReported),
                        {options_.source}});
}

}  // namespace railweave::fabric
