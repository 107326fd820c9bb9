// InfiniBand globally unique identifier (EUI-64), of a node, a port or a system image. 0 means "not known".
#pragma once

#include <charconv>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace railweave {

class Guid {
 public:
  constexpr Guid() = default;
  constexpr explicit Guid(std::uint64_t value) : value_(value) {}

  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }
  [[nodiscard]] constexpr bool known() const { return value_ != 0; }
  friend constexpr auto operator<=>(Guid, Guid) = default;

 private:
  std::uint64_t value_ = 0;
};

// 16 hexadecimal digits without a prefix, as ibnetdiscover prints it.
inline std::string to_string(Guid guid) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text(16, '0');
  std::uint64_t value = guid.value();
  for (int i = 15; i >= 0; --i, value >>= 4) text[static_cast<std::size_t>(i)] = digits[value & 15U];
  return text;
}

// 1 to 16 hexadecimal digits, with or without 0x; nothing else.
inline std::optional<Guid> parse_guid(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  if (text.empty() || text.size() > 16) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return Guid(value);
}

}  // namespace railweave

template <>
struct std::hash<railweave::Guid> {
  std::size_t operator()(railweave::Guid guid) const noexcept { return std::hash<std::uint64_t>{}(guid.value()); }
};
