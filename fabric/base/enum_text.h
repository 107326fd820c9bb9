// Texts of enumerators, from one list per enum: BOOST_DESCRIBE_ENUM beside its definition. Everything is computed at
// compile time; nothing allocates. Used wherever an enum is written to the wire, the journal or a message, or read
// back.
//
//   enum class DrainKind : std::uint8_t { link, network_switch, node };
//   BOOST_DESCRIBE_ENUM(DrainKind, link, network_switch, node)   // BOOST_DESCRIBE_NESTED_ENUM inside a class
//   constexpr std::optional<std::string_view> enum_exception(DrainKind kind) {
//     return kind == DrainKind::network_switch ? std::optional<std::string_view>("switch") : std::nullopt;
//   }
//   to_text(DrainKind::network_switch)  -> "switch"
//   parse_enum<DrainKind>("switch")     -> DrainKind::network_switch
//   enum_texts<DrainKind>()             -> "link, switch, node"
//
// A text is the enumerator's name in camelCase unless two functions beside the enum, found by argument-dependent
// lookup, say otherwise: enum_style(E) for all of them, enum_exception(E) for single ones. Both must stand right
// after the list: what is declared after the first use of a text is not found, and texts must not differ between files.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include <boost/describe/enum.hpp>
#include <boost/describe/enumerators.hpp>

namespace railweave {

enum class EnumStyle : unsigned char {
  camel_case,  // leaf_group -> "leafGroup": the style of the wire and of the journal
  snake_case,  // leaf_group -> "leaf_group"
  kebab_case,  // leaf_group -> "leaf-group": the style of the command line
  spaced,      // leaf_group -> "leaf group"
  upper_case,  // fdr10 -> "FDR10"
};

template <class E>
concept DescribedEnum = boost::describe::has_describe_enumerators<E>::value;

namespace enum_text_detail {

template <class E>
consteval EnumStyle style() {
  if constexpr (requires { enum_style(E{}); }) {
    return enum_style(E{});
  } else {
    return EnumStyle::camel_case;
  }
}

template <class E>
consteval std::optional<std::string_view> exception(E value) {
  if constexpr (requires { enum_exception(value); }) {
    return enum_exception(value);
  } else {
    return std::nullopt;
  }
}

template <std::size_t N>
struct Text {
  std::array<char, N> chars{};  // N: at least one, as an array of none has no elements to point to
  std::size_t size = 0;

  constexpr void add(char c) { chars[size++] = c; }
  constexpr void add(std::string_view text) {
    for (const char c : text) add(c);
  }
};

template <std::size_t N>
consteval Text<N> styled(std::string_view name, EnumStyle style) {
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; };
  Text<N> text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool joint = name[i] == '_';
    if (joint && style == EnumStyle::kebab_case) {
      text.add('-');
    } else if (joint && style == EnumStyle::spaced) {
      text.add(' ');
    } else if (joint && style == EnumStyle::camel_case && i + 1 < name.size()) {
      text.add(upper(name[++i]));
    } else {
      text.add(style == EnumStyle::upper_case ? upper(name[i]) : name[i]);
    }
  }
  return text;
}

template <class Enumerator>
inline constexpr auto kStyled = styled<std::string_view(Enumerator::name).size() + 1>(
    Enumerator::name, style<std::remove_cv_t<decltype(Enumerator::value)>>());

template <class Enumerator>
consteval std::string_view text() {
  constexpr auto other = exception(Enumerator::value);
  if constexpr (other.has_value()) {
    return *other;
  } else {
    return std::string_view(kStyled<Enumerator>.chars.data(), kStyled<Enumerator>.size);
  }
}

template <class E>
struct Entry {
  E value{};
  std::string_view text;
};

template <class E, template <class...> class List, class... Enumerators>
consteval auto entries(List<Enumerators...>) {
  return std::array<Entry<E>, sizeof...(Enumerators)>{{{Enumerators::value, text<Enumerators>()}...}};
}

template <class E>
inline constexpr auto kEntries = entries<E>(boost::describe::describe_enumerators<E>());

// Texts differ, so that what is written is read back as the same value. An empty text is written, but never read.
template <class E>
consteval bool distinct() {
  for (const auto& a : kEntries<E>) {
    for (const auto& b : kEntries<E>) {
      if (a.value != b.value && a.text == b.text && !a.text.empty()) return false;
    }
  }
  return true;
}

template <class E>
consteval std::size_t joined_size() {
  std::size_t size = 0;
  for (const auto& entry : kEntries<E>) size += entry.text.size() + 2;
  return size;
}

template <class E>
consteval auto joined() {
  Text<joined_size<E>()> text;
  for (const auto& entry : kEntries<E>) {
    if (entry.text.empty()) continue;
    if (text.size > 0) text.add(", ");
    text.add(entry.text);
  }
  return text;
}

template <class E>
inline constexpr auto kJoined = joined<E>();

}  // namespace enum_text_detail

// Empty for a value outside of the list.
template <DescribedEnum E>
constexpr std::string_view to_text(E value) {
  const auto& entries = enum_text_detail::kEntries<E>;
  const auto index = static_cast<std::size_t>(value);
  if (index < entries.size() && entries[index].value == value) return entries[index].text;  // the usual: 0, 1, 2, ...
  for (const auto& entry : entries) {
    if (entry.value == value) return entry.text;
  }
  return {};
}

// The exact text only; case matters.
template <DescribedEnum E>
constexpr std::optional<E> parse_enum(std::string_view text) {
  static_assert(enum_text_detail::distinct<E>(), "every enumerator has a text of its own");
  if (text.empty()) return std::nullopt;
  for (const auto& entry : enum_text_detail::kEntries<E>) {
    if (entry.text == text) return entry.value;
  }
  return std::nullopt;
}

// Every text in the order of the list, for messages: "one of " + "link, switch, node".
template <DescribedEnum E>
constexpr std::string_view enum_texts() {
  return {enum_text_detail::kJoined<E>.chars.data(), enum_text_detail::kJoined<E>.size};
}

// Every value in the order of the list, for loops.
template <DescribedEnum E>
constexpr auto enum_values() {
  std::array<E, enum_text_detail::kEntries<E>.size()> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = enum_text_detail::kEntries<E>[i].value;
  return values;
}

}  // namespace railweave
