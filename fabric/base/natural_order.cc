#include "fabric/base/natural_order.h"

#include <cstddef>

namespace railweave {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view digits_at(std::string_view text, std::size_t from) {
  std::size_t end = from;
  while (end < text.size() && is_digit(text[end])) ++end;
  return text.substr(from, end - from);
}

std::string_view without_leading_zeros(std::string_view digits) {
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return digits;
}

}  // namespace

int natural_compare(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const auto run_a = digits_at(a, i);
      const auto run_b = digits_at(b, j);
      const auto value_a = without_leading_zeros(run_a);
      const auto value_b = without_leading_zeros(run_b);
      if (value_a.size() != value_b.size()) return value_a.size() < value_b.size() ? -1 : 1;
      if (const int order = value_a.compare(value_b); order != 0) return order;
      i += run_a.size();
      j += run_b.size();
    } else {
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]) ? -1 : 1;
      ++i;
      ++j;
    }
  }
  if (i < a.size()) return 1;
  if (j < b.size()) return -1;
  return a.compare(b);
}

}  // namespace railweave
