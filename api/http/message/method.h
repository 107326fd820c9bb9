// Request methods. Names are case-sensitive (RFC 9110, 9.1); everything the contract does not use is `other`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace railweave::api {

enum class Method : std::uint8_t { get, head, post, put, patch, del, options, other };
inline constexpr std::size_t kMethods = 8;

constexpr std::string_view to_string(Method method) {
  constexpr std::array<std::string_view, kMethods> names = {"GET",   "HEAD",   "POST",    "PUT",
                                                            "PATCH", "DELETE", "OPTIONS", "other"};
  return names[static_cast<std::size_t>(method)];
}

constexpr Method parse_method(std::string_view name) {
  for (std::size_t i = 0; i + 1 < kMethods; ++i) {
    if (to_string(static_cast<Method>(i)) == name) return static_cast<Method>(i);
  }
  return Method::other;
}

// Changes nothing by its definition (RFC 9110, 9.2.1).
constexpr bool is_safe(Method method) {
  return method == Method::get || method == Method::head || method == Method::options;
}

// Sending it twice is the same as sending it once (RFC 9110, 9.2.2).
constexpr bool is_idempotent(Method method) {
  return is_safe(method) || method == Method::put || method == Method::del;
}

}  // namespace railweave::api
