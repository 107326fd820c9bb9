// The objects that the contract describes, as the compiler knows them: the properties of each, those that are always there,
// and the texts that a property may have. Names are those of schemas.py: "Repair", "LiveSubnet.sync", "putSubnetMode.body".
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

namespace railweave::api {

struct SchemaRow {
  std::string_view name;
  std::string_view required, optional;  // properties, with a space between them
};
inline constexpr SchemaRow kSchemas[] = {
#include "api/contract/schemas.inc"
};

struct SchemaTexts {
  std::string_view name;   // of a schema and its property: "Alarm.severity"
  std::string_view texts;  // with a space between them
};
inline constexpr SchemaTexts kSchemaTexts[] = {
#include "api/contract/schema_texts.inc"
};

// A name that is an argument of templates.
template <std::size_t n>
struct Name {
  char chars[n]{};

  consteval Name(const char (&literal)[n]) : Name(std::string_view(literal, n - 1)) {}
  consteval explicit Name(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) chars[i] = text[i];
  }
  [[nodiscard]] constexpr std::string_view text() const { return {chars, n - 1}; }
};

// Whether a part of an object gives a property.
enum class Given : unsigned char { no, sometimes, always };

namespace schema_detail {

// Where the row of that name stands; n: nowhere. Not a pointer: under UBSan GCC does not take a comparison of one with null for a constant.
template <class Row, std::size_t n>
constexpr std::size_t find(const Row (&rows)[n], std::string_view name) {
  std::size_t from = 0, to = n;
  while (from < to) {
    const std::size_t middle = (from + to) / 2;
    (rows[middle].name < name ? from : to) = rows[middle].name < name ? middle + 1 : middle;
  }
  return from < n && rows[from].name == name ? from : n;
}

template <class Row, std::size_t n>
consteval bool is_sorted(const Row (&rows)[n]) {
  for (std::size_t i = 1; i < n; ++i) {
    if (!(rows[i - 1].name < rows[i].name)) return false;
  }
  return true;
}
static_assert(is_sorted(kSchemas) && is_sorted(kSchemaTexts));

// The first of some words with a space between them that `is` holds for; "": none.
template <class Is>
constexpr std::string_view find_word(std::string_view words, Is is) {
  std::size_t from = 0;
  for (std::size_t i = 0; i <= words.size(); ++i) {
    if (i < words.size() && words[i] != ' ') continue;
    if (i > from && is(words.substr(from, i - from))) return words.substr(from, i - from);
    from = i + 1;
  }
  return {};
}
constexpr bool has_word(std::string_view words, std::string_view word) {
  return !find_word(words, [word](std::string_view one) { return one == word; }).empty();
}
constexpr bool has_property(const SchemaRow& schema, std::string_view name) {
  return has_word(schema.required, name) || has_word(schema.optional, name);
}

struct Fault {
  enum class Kind : unsigned char { none, missing, unknown, twice, not_always, required } kind = Kind::none;
  std::string_view property = {};
};

template <class... Parts>
consteval Fault find_fault(const SchemaRow& schema) {
  using Kind = Fault::Kind;
  for (const std::string_view unknown : {Parts::unknown(schema)...}) {
    if (!unknown.empty()) return {Kind::unknown, unknown};
  }
  Fault fault;
  const auto judge = [&fault](std::string_view property, bool is_required) {
    unsigned always = 0, sometimes = 0;
    for (const Given given : {Parts::given(property)...}) {
      always += given == Given::always ? 1 : 0;
      sometimes += given == Given::sometimes ? 1 : 0;
    }
    const Kind kind = always + sometimes == 0        ? Kind::missing
                      : always + sometimes > 1       ? Kind::twice
                      : is_required && sometimes > 0 ? Kind::not_always
                                                     : Kind::none;
    if (kind != Kind::none) fault = {kind, property};
    return kind != Kind::none;
  };
  find_word(schema.required, [&](std::string_view word) { return judge(word, true); });
  if (fault.kind == Kind::none) find_word(schema.optional, [&](std::string_view word) { return judge(word, false); });
  return fault;
}

struct Asked {
  std::string_view name;
  bool is_required;
};

// A text that only one of the two has; "": none.
template <class Entries>
constexpr std::string_view differing_text(std::string_view texts, const Entries& enumerators) {
  for (const auto& one : enumerators) {
    if (!one.text.empty() && !has_word(texts, one.text)) return one.text;
  }
  return find_word(texts, [&](std::string_view text) {
    for (const auto& one : enumerators) {
      if (one.text == text) return false;
    }
    return true;
  });
}

// Templates, so that the compiler says of which schema, property and text.
template <Name schema, Name property, Fault::Kind kind>
consteval bool fits() {
  static_assert(kind != Fault::Kind::missing, "a property that the contract's schema has is not given");
  static_assert(kind != Fault::Kind::unknown, "the contract's schema has no such property");
  static_assert(kind != Fault::Kind::twice, "a property of the contract's schema is given twice");
  static_assert(kind != Fault::Kind::not_always, "a property that the contract requires is not always given");
  static_assert(kind != Fault::Kind::required, "what the contract requires of a request is not what reading requires");
  return true;
}
template <Name schema, Name property, Name text>
consteval bool has_text() {
  static_assert(text.text().empty(), "the contract's property and the enum do not have the same texts");
  return true;
}

}  // namespace schema_detail

template <Name schema>
constexpr const SchemaRow& schema_row() {
  constexpr std::size_t row = schema_detail::find(kSchemas, schema.text());
  static_assert(row < std::size(kSchemas), "the contract has no object of that name");
  return kSchemas[row < std::size(kSchemas) ? row : 0];
}

// Does not compile unless the parts together give each property of the schema once, and no other. A part has
//   static constexpr Given given(std::string_view property);
//   static constexpr std::string_view unknown(const SchemaRow& schema);  // what it gives and the schema has not; "": none
template <Name schema, class... Parts>
consteval bool gives_schema() {
  constexpr schema_detail::Fault fault = schema_detail::find_fault<Parts...>(schema_row<schema>());
  constexpr Name<fault.property.size() + 1> property(fault.property);
  return schema_detail::fits<schema, property, fault.kind>();
}

// Does not compile unless the fields that are required are those that the schema requires. A field has kName and kRequired.
template <Name schema, class... Fields>
consteval bool requires_schema() {
  constexpr std::string_view differs = [] {
    std::string_view found;
    for (const auto& [name, is_required] : {schema_detail::Asked{Fields::kName, Fields::kRequired}...}) {
      if (schema_detail::has_word(schema_row<schema>().required, name) != is_required) found = name;
    }
    return found;
  }();
  constexpr Name<differs.size() + 1> property(differs);
  return schema_detail::fits<
      schema, property, differs.empty() ? schema_detail::Fault::Kind::none : schema_detail::Fault::Kind::required>();
}

// Does not compile unless the property has the texts of the enumerators (those of fabric/base/enum_text.h: .text), and no other.
template <Name schema, Name property, const auto& enumerators>
consteval bool gives_texts() {
  constexpr std::size_t size = schema.text().size() + 1 + property.text().size();
  constexpr Name<size + 1> name = [] {
    Name<size + 1> joined{std::string_view()};
    std::size_t at = 0;
    for (const std::string_view part : {schema.text(), std::string_view("."), property.text()}) {
      for (const char c : part) joined.chars[at++] = c;
    }
    return joined;
  }();
  constexpr std::size_t row = schema_detail::find(kSchemaTexts, name.text());
  static_assert(row < std::size(kSchemaTexts), "the contract's property is not one of several texts");
  constexpr std::string_view differs =
      schema_detail::differing_text(row < std::size(kSchemaTexts) ? kSchemaTexts[row].texts : "", enumerators);
  constexpr Name<differs.size() + 1> text(differs);
  return schema_detail::has_text<schema, property, text>();
}

}  // namespace railweave::api
