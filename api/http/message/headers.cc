#include "api/http/message/headers.h"

#include <algorithm>

namespace railweave::api {
namespace {

bool is_token_character(char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_value_character(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

void Headers::set(std::string name, std::string value) {
  remove(name);
  add(std::move(name), std::move(value));
}

void Headers::remove(std::string_view name) {
  std::erase_if(fields_, [&](const Field& field) { return equal_ignoring_case(field.first, name); });
}

const std::string* Headers::find(std::string_view name) const {
  for (const Field& field : fields_) {
    if (equal_ignoring_case(field.first, name)) return &field.second;
  }
  return nullptr;
}

std::string_view Headers::value(std::string_view name) const {
  const std::string* found = find(name);
  return found == nullptr ? std::string_view() : std::string_view(*found);
}

std::size_t Headers::count(std::string_view name) const {
  return static_cast<std::size_t>(std::count_if(
      fields_.begin(), fields_.end(), [&](const Field& field) { return equal_ignoring_case(field.first, name); }));
}

std::vector<std::string_view> Headers::list(std::string_view name) const {
  std::vector<std::string_view> elements;
  for (const Field& field : fields_) {
    if (!equal_ignoring_case(field.first, name)) continue;
    const std::string_view value = field.second;
    bool quoted = false;
    std::size_t start = 0;
    for (std::size_t i = 0; i <= value.size(); ++i) {
      if (i < value.size() && value[i] == '"') quoted = !quoted;
      if (i < value.size() && (value[i] != ',' || quoted)) continue;
      const std::string_view element = trimmed(value.substr(start, i - start));
      if (!element.empty()) elements.push_back(element);
      start = i + 1;
    }
  }
  return elements;
}

bool is_sendable(const Headers::Field& field) {
  return !field.first.empty() && std::all_of(field.first.begin(), field.first.end(), is_token_character) &&
         std::all_of(field.second.begin(), field.second.end(), is_value_character);
}

}  // namespace railweave::api
