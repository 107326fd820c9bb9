// Reading line-oriented text: lines with their numbers, and a cursor within one line that knows its column. No
// exceptions, no allocation; views point into the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "fabric/base/guid.h"
#include "fabric/formats/text/read_options.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

// Errors: larger than kMaxInputBytes, or UTF-16 (a byte order mark says so). A UTF-8 byte order mark is taken off.
Result<std::string_view> plain_text(std::string_view text, const ReadOptions& options);

// Lines end with LF or CR LF; the last one need not.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}
  [[nodiscard]] bool next(std::string_view& line);
  [[nodiscard]] std::size_t number() const { return number_; }  // of the line last returned, from 1

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

class LineCursor {
 public:
  explicit LineCursor(std::string_view line) : line_(line) {}

  [[nodiscard]] bool at_end() const { return at_ == line_.size(); }
  [[nodiscard]] char peek() const { return at_end() ? '\0' : line_[at_]; }
  [[nodiscard]] std::size_t column() const { return at_ + 1; }
  [[nodiscard]] std::string_view rest() const { return line_.substr(at_); }
  void advance(std::size_t bytes) { at_ += bytes < line_.size() - at_ ? bytes : line_.size() - at_; }

  void skip_blanks();
  [[nodiscard]] bool take(char c);  // steps over it where it is next
  [[nodiscard]] bool take(std::string_view word);
  std::string_view take_word();  // up to the next blank
  // Decimal, at most max. Nothing is taken where there is none.
  [[nodiscard]] std::optional<unsigned> take_number(unsigned max);
  // "(2c90300)", hexadecimal.
  [[nodiscard]] std::optional<Guid> take_guid_in_parentheses();

 private:
  std::string_view line_;
  std::size_t at_ = 0;
};

// Counts the lines that cannot be read: one finding ("unreadableLine") each for the first hundred, one for the rest.
class UnreadableLines {
 public:
  UnreadableLines(const ReadOptions& options, TopologyBuilder& builder) : options_(options), builder_(builder) {}

  // `expected` completes "expected ...".
  void add(std::size_t line, std::size_t column, std::string_view expected);
  [[nodiscard]] bool too_many() const { return count_ > kMaxUnreadableLines; }
  [[nodiscard]] std::size_t count() const { return count_; }
  // The error to return when there are too many, or when nothing readable was among them.
  [[nodiscard]] Error unreadable_error(std::string_view format) const;
  void finish();  // adds the finding about the rest

 private:
  static constexpr std::size_t kMaxReported = 100;
  const ReadOptions& options_;
  TopologyBuilder& builder_;
  std::size_t count_ = 0;
  std::string first_location_;
  std::string first_expected_;
};

}  // namespace railweave::fabric
