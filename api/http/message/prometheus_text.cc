#include "api/http/message/prometheus_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "fabric/base/check.h"

namespace railweave::api {
namespace {

bool is_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 64> buffer;
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::general);
  RAILWEAVE_CHECK(error == std::errc(), "64 bytes hold any double");
  return {buffer.data(), end};
}

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

}  // namespace

void PrometheusText::family(std::string_view name, Type type, std::string_view help) {
  RAILWEAVE_CHECK(is_name(name), "a metric's name is made of letters, digits and _");
  name_ = std::string(name);
  text_ += "# HELP " + name_ + ' ';
  append_escaped(text_, help, false);
  text_ += "\n# TYPE " + name_ + ' ';
  text_ += type == Type::counter ? "counter\n" : type == Type::gauge ? "gauge\n" : "histogram\n";
}

void PrometheusText::begin_sample(std::string_view suffix, Labels labels, std::string_view bound) {
  text_ += name_;
  text_ += suffix;
  char separator = '{';
  const auto label = [&](std::string_view name, std::string_view value) {
    RAILWEAVE_CHECK(is_name(name), "a label's name is made of letters, digits and _");
    text_ += separator;
    text_ += name;
    text_ += "=\"";
    append_escaped(text_, value, true);
    text_ += '"';
    separator = ',';
  };
  for (const auto& [name, value] : labels) label(name, value);
  if (!bound.empty()) label("le", bound);
  text_ += separator == '{' ? " " : "} ";
}

void PrometheusText::sample(Labels labels, double value) {
  begin_sample("", labels, "");
  text_ += number(value) + '\n';
}

void PrometheusText::sample(Labels labels, std::uint64_t value) {
  begin_sample("", labels, "");
  text_ += std::to_string(value) + '\n';
}

void PrometheusText::histogram(Labels labels, std::span<const double> bounds, std::span<const std::uint64_t> counts,
                               double sum) {
  RAILWEAVE_CHECK(counts.size() == bounds.size() + 1, "a histogram has one count more than bounds");
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    begin_sample("_bucket", labels, i < bounds.size() ? number(bounds[i]) : "+Inf");
    text_ += std::to_string(total) + '\n';
  }
  begin_sample("_sum", labels, "");
  text_ += number(sum) + '\n';
  begin_sample("_count", labels, "");
  text_ += std::to_string(total) + '\n';
}

void PrometheusText::single(std::string_view name, Type type, std::string_view help, double value) {
  family(name, type, help);
  sample({}, value);
}

void PrometheusText::single(std::string_view name, Type type, std::string_view help, std::uint64_t value) {
  family(name, type, help);
  sample({}, value);
}

}  // namespace railweave::api
