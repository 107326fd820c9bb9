#include "fabric/formats/text/json_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/utf8.h"
#include "fabric/base/whole_number.h"
#include "fabric/formats/text/name_text.h"

namespace railweave::fabric {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool JsonReader::Names::add(std::string_view name, JsonReader& reader) {
  const std::uint64_t hash = std::hash<std::string_view>{}(name);
  if (std::find(hashes_.begin(), hashes_.begin() + count_, hash) != hashes_.begin() + count_) {
    return reader.fail(fmt::format("the field '{}' is given twice", name), "json.duplicateField");
  }
  if (count_ == hashes_.size()) return reader.fail("too many fields in one object", "json.tooManyFields");
  hashes_[count_++] = hash;
  return true;
}

void JsonReader::skip_blanks() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
    ++at_;
}

char JsonReader::peek() {
  skip_blanks();
  return at_ < text_.size() ? text_[at_] : '\0';
}

std::size_t JsonReader::value_offset() {
  skip_blanks();
  return at_;
}

bool JsonReader::fail(std::string message, std::string code) {
  return fail_at(started_, std::move(message), std::move(code));
}

bool JsonReader::fail_at(std::size_t offset, std::string message, std::string code) {
  if (!ok()) return false;
  offset = std::min(offset, text_.size());
  const auto before = text_.substr(0, offset);
  const auto line = static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1;
  const auto line_start = before.rfind('\n');
  const std::size_t column = line_start == std::string_view::npos ? offset + 1 : offset - line_start;
  error_ = {ErrorKind::malformed, std::move(code), std::move(message), location_text(source_, line, column), {}};
  return false;
}

bool JsonReader::too_large(std::string message) {
  fail(std::move(message), "fabric.tooLarge");
  error_.kind = ErrorKind::tooLarge;
  return false;
}

bool JsonReader::unknown_field(std::string_view field, std::string_view where) {
  return fail(fmt::format("unknown field '{}' in {}", escaped_name(field.substr(0, kMaxNameBytes)), where),
              "json.unknownField");
}

bool JsonReader::open(char bracket) {
  if (!ok()) return false;
  const char c = peek();
  started_ = at_;
  if (c != bracket) return fail(bracket == '{' ? "expected an object" : "expected an array");
  if (++depth_ > kMaxDepth) return fail("nested too deeply", "json.tooDeep");
  ++at_;
  return true;
}

bool JsonReader::close(char bracket) {
  if (peek() != bracket) return false;
  ++at_;
  return true;
}

bool JsonReader::next(char bracket) {
  const char c = peek();
  if (c == ',') {
    ++at_;
    return true;
  }
  if (c == bracket) {
    ++at_;
  } else {
    fail_at(at_,
            c == '\0' ? "the text ends within " + std::string(bracket == '}' ? "an object" : "an array")
                      : fmt::format("expected ',' or '{}'", bracket),
            "json.syntax");
  }
  return false;
}

bool JsonReader::leave() {
  --depth_;
  return true;
}

bool JsonReader::field_name(std::string_view& name) {
  if (peek() != '"') return fail_at(at_, "expected the name of a field in quotes", "json.syntax");
  if (!raw_string(name)) return false;
  const std::size_t name_at = started_;
  if (peek() != ':') return fail_at(at_, "expected ':'", "json.syntax");
  ++at_;
  started_ = name_at;
  return true;
}

bool JsonReader::raw_string(std::string_view& value) {
  if (!ok()) return false;
  const char quote = peek();
  started_ = at_;
  if (quote != '"') return fail("expected a string");
  const std::size_t begin = ++at_;
  bool copied = false;
  std::size_t unsaved = begin;  // what follows is not yet in scratch_
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"') {
      value = text_.substr(unsaved, at_ - unsaved);
      if (copied) value = scratch_.append(value);
      ++at_;
      return true;
    }
    if (c == '\\') {
      if (!copied) scratch_.clear();
      copied = true;
      scratch_.append(text_, unsaved, at_ - unsaved);
      if (!escape(at_)) return false;
      unsaved = at_;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      return fail_at(at_, "control character in a string; write it as an escape", "json.syntax");
    } else {
      const std::size_t length = utf8_at(text_, at_).bytes;
      if (length == 0) return fail_at(at_, "invalid UTF-8 in a string", "json.encoding");
      at_ += length;
    }
  }
  return fail("the string is never closed", "json.syntax");
}

// "\n", "\u00e9", "\ud83d\ude00"; appends what it stands for to scratch_.
bool JsonReader::escape(std::size_t& at) {
  const std::size_t begin = at++;
  const auto hex4 = [&](unsigned& unit) {
    if (at + 4 > text_.size()) return false;
    const auto code = railweave::whole_number<unsigned>(text_.substr(at, 4), 0xFFFF, 16);
    if (!code) return false;
    unit = *code;
    at += 4;
    return true;
  };
  static constexpr std::string_view kLetters = "\"\\/bfnrt";
  static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const char letter = at < text_.size() ? text_[at++] : '\0';
  if (const auto which = kLetters.find(letter); letter != '\0' && which != std::string_view::npos) {
    scratch_ += kMeanings[which];
    return true;
  }
  unsigned code = 0;
  if (letter != 'u' || !hex4(code)) return fail_at(begin, "unknown escape in a string", "json.syntax");
  if (code >= 0xd800 && code <= 0xdbff) {
    unsigned low = 0;
    if (text_.substr(at, 2) != "\\u") return fail_at(begin, "half of a surrogate pair in a string", "json.encoding");
    at += 2;
    if (!hex4(low) || low < 0xdc00 || low > 0xdfff) {
      return fail_at(begin, "half of a surrogate pair in a string", "json.encoding");
    }
    code = 0x10000 + ((code - 0xd800) << 10U) + (low - 0xdc00);
  } else if (code >= 0xdc00 && code <= 0xdfff) {
    return fail_at(begin, "half of a surrogate pair in a string", "json.encoding");
  }
  append_utf8(scratch_, code);
  return true;
}

bool JsonReader::names(std::string& list) {
  if (peek() == '"') return string(list);
  if (peek() != '[') return skip_value();
  return array([&] {
    std::string one;
    if (peek() != '"') return skip_value();
    if (!string(one)) return false;
    list += (list.empty() ? "" : ",") + one;
    return true;
  });
}

bool JsonReader::string(std::string& value) {
  std::string_view text;
  if (!raw_string(text)) return false;
  value.assign(text);
  return true;
}

bool JsonReader::name(std::string& value) {
  std::string_view text;
  if (!raw_string(text)) return false;
  if (text.size() > kMaxStoredNameBytes) {
    return fail(fmt::format("a name of more than {} bytes", kMaxStoredNameBytes), "json.name");
  }
  if (!is_clean_name(text)) return fail("control character in a name", "json.name");
  value.assign(text);
  return true;
}

bool JsonReader::boolean(bool& value) {
  if (!ok()) return false;
  started_ = value_offset();
  const auto rest = text_.substr(at_);
  value = rest.starts_with("true");
  if (!value && !rest.starts_with("false")) return fail("expected true or false");
  at_ += value ? 4 : 5;
  return true;
}

bool JsonReader::number_text(std::string_view& value) {
  if (!ok()) return false;
  started_ = value_offset();
  std::size_t at = at_;
  const auto digits = [&] {
    const std::size_t begin = at;
    while (at < text_.size() && is_digit(text_[at])) ++at;
    return at - begin;
  };
  const auto at_any = [&](std::string_view set) {
    return at < text_.size() && set.find(text_[at]) != std::string_view::npos;
  };
  if (at_any("-")) ++at;
  const bool zero = at_any("0");
  const std::size_t whole = digits();
  if (whole == 0 || (zero && whole > 1)) return fail("expected a number");
  if (at_any(".")) {
    ++at;
    if (digits() == 0) return fail("expected a number");
  }
  if (at_any("eE")) {
    ++at;
    if (at_any("+-")) ++at;
    if (digits() == 0) return fail("expected a number");
  }
  value = text_.substr(at_, at - at_);
  at_ = at;
  return true;
}

bool JsonReader::whole_number(std::uint64_t& value, std::uint64_t max) {
  std::string_view text;
  if (!number_text(text)) return false;
  const auto number = railweave::whole_number<std::uint64_t>(text, max);
  if (!number) return fail(fmt::format("expected a whole number from 0 to {}", max));
  value = *number;
  return true;
}

bool JsonReader::decimal(float& value) {
  std::string_view text;
  if (!number_text(text)) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || std::signbit(value)) {
    return fail("expected a number that is not negative");
  }
  return true;
}

bool JsonReader::skip_scalar() {
  for (const std::string_view word : {"true", "false", "null"}) {
    if (!text_.substr(at_).starts_with(word)) continue;
    at_ += word.size();
    return true;
  }
  if (text_.substr(at_, 1).find_first_of("-0123456789") == std::string_view::npos) return fail("expected a value");
  std::string_view number;
  return number_text(number);
}

// Recursion is bounded by kMaxDepth, which open() holds to.
bool JsonReader::skip_value() {
  if (!ok()) return false;
  const char c = peek();
  started_ = at_;
  if (c == '"') {
    std::string_view text;
    return raw_string(text);
  }
  if (c == '[') return array([&] { return skip_value(); });
  if (c == '{') return entries([&](std::string_view) { return skip_value(); });
  return skip_scalar();
}

bool JsonReader::end() {
  if (!ok()) return false;
  if (peek() == '\0' && at_ >= text_.size()) return true;
  return fail_at(at_, "unexpected text after the end of the document", "json.syntax");
}

}  // namespace railweave::fabric
