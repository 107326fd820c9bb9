// Objects of bodies and answers, whose properties the compiler compares with the contract's schema of that name: one that
// lacks a property which api/openapi.yaml has, or that has another, does not compile, and the message says which.
//
// An object of values, in the order in which they are written (and made in any: none may depend on another's being moved):
//
//   object<"DirectedLink">(with<"from">(device_text(topology, port)), with<"to">(...), with<"port">(...), with<"link">(...))
//
// The list of a record's fields (services/json/record.h), which reads too:
//
//   constexpr auto kRepairFields = fields<"Repair">(
//       field<"cause">(&Repair::cause),
//       field<"at">(&Repair::at_us, as(time_text)), ...);
//   fields_json(repair, kRepairFields)
//
// An enum that has a list of its texts (fabric/base/enum_text.h) is given as it is: the contract must have the same texts.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "api/contract/schema.h"
#include "fabric/base/enum_text.h"
#include "services/json/json_out.h"
#include "services/json/record.h"

namespace railweave::api {

// --- parts of an object (api/contract/schema.h says what they must have)

// That the object does not have yet.
inline void add_property(Out& object, std::string_view name, Out value) {
  object.get_ref<Out::object_t&>().emplace_back(name, std::move(value));
}

template <Name name, Given how>
struct OneProperty {
  static constexpr Given given(std::string_view property) { return property == name.text() ? how : Given::no; }
  static constexpr std::string_view unknown(const SchemaRow& schema) {
    return schema_detail::has_property(schema, name.text()) ? std::string_view() : name.text();
  }
};

// A property that is always written. `Enum`: the type that its texts are of.
template <Name name, class Enum = void>
struct With : OneProperty<name, Given::always> {
  Out value;

  void add_to(Out& object) && { add_property(object, name.text(), std::move(value)); }
};
template <Name name>
With<name> with(Out value) {
  return {{}, std::move(value)};
}
template <Name name, DescribedEnum Enum>
With<name, Enum> with(Enum value) {
  return {{}, railweave::to_text(value)};
}
template <Name name, DescribedEnum Enum>
With<name, Enum> with(std::optional<Enum> value) {
  return {{}, value ? Out(railweave::to_text(*value)) : Out(nullptr)};
}

// Other enums would be written as numbers.
template <Name name, class Enum>
  requires(std::is_enum_v<Enum> && !DescribedEnum<Enum>)
void with(Enum) = delete;

// A property that is written where `is_there`.
template <Name name>
struct Maybe : OneProperty<name, Given::sometimes> {
  bool is_there;
  Out value;

  void add_to(Out& object) && {
    if (is_there) add_property(object, name.text(), std::move(value));
  }
};
// `value`: the value, or a function that makes it, called where it is there.
template <Name name, class Value>
Maybe<name> maybe(bool is_there, Value&& value) {
  static_assert(!std::is_enum_v<std::remove_cvref_t<Value>>, "it would be written as a number");
  if constexpr (std::invocable<Value>) {
    return {{}, is_there, is_there ? Out(value()) : Out()};
  } else {
    return {{}, is_there, std::forward<Value>(value)};
  }
}

// Properties that this object never has.
template <Name... names>
struct Without {
  static constexpr Given given(std::string_view property) {
    return ((property == names.text()) || ...) ? Given::sometimes : Given::no;
  }
  static constexpr std::string_view unknown(const SchemaRow& schema) {
    for (const std::string_view name : {names.text()...}) {
      if (!schema_detail::has_property(schema, name)) return name;
    }
    return {};
  }
  void add_to(Out&) && {}
};
template <Name... names>
Without<names...> without() {
  return {};
}

// What an object that consists of another schema has by that one. `is_whole`: its optional properties too.
template <Name schema, bool is_whole>
struct Part {
  Out object;

  static constexpr Given given(std::string_view property) {
    const SchemaRow& row = schema_row<schema>();
    if (schema_detail::has_word(row.required, property)) return Given::always;
    if (!schema_detail::has_word(row.optional, property)) return Given::no;
    return is_whole ? Given::always : Given::sometimes;
  }
  static constexpr std::string_view unknown(const SchemaRow& of) {
    const auto is_unknown = [&of](std::string_view property) { return !schema_detail::has_property(of, property); };
    const SchemaRow& row = schema_row<schema>();
    const auto unknown = schema_detail::find_word(row.required, is_unknown);
    return unknown.empty() ? schema_detail::find_word(row.optional, is_unknown) : unknown;
  }
  void add_to(Out& into) && {
    for (auto& [name, value] : object.get_ref<Out::object_t&>()) add_property(into, name, std::move(value));
  }
};
template <Name schema>
Part<schema, false> part(Out object) {
  return {std::move(object)};
}
template <Name schema>
Part<schema, true> whole_part(Out object) {
  return {std::move(object)};
}

// What several parts give together.
template <class... Parts>
struct Together {
  static constexpr Given given(std::string_view property) {
    for (const Given one : {Parts::given(property)...}) {
      if (one != Given::no) return one;
    }
    return Given::no;
  }
  static constexpr std::string_view unknown(const SchemaRow& schema) {
    for (const std::string_view one : {Parts::unknown(schema)...}) {
      if (!one.empty()) return one;
    }
    return {};
  }
};

// Properties that several objects have in common.
template <class... Parts>
struct Several : Together<Parts...> {
  std::tuple<Parts...> parts;

  void add_to(Out& object) && {
    std::apply([&](auto&... each) { (std::move(each).add_to(object), ...); }, parts);
  }
};
template <class... Parts>
Several<Parts...> several(Parts... parts) {
  return {{}, {std::move(parts)...}};
}

// The fields of a record by a list, as several properties. The record outlives it.
template <class Record, class... Fields>
struct FieldsOf : Together<Fields...> {
  const Record& record;
  const std::tuple<Fields...>& fields;

  void add_to(Out& object) && { write_fields(object, record, fields); }
};
template <class Record, class... Fields>
FieldsOf<Record, Fields...> fields_of(const Record& record, const std::tuple<Fields...>& fields) {
  return {{}, record, fields};
}

// --- forms of fields (services/json/record.h)

// Written as a function says. Not read.
template <class To>
struct As {
  To to;

  template <class Value>
  Out write(const Value& value) const {
    return to(value);
  }
};
template <class To>
constexpr As<To> as(To to) {
  return {to};
}

// "planned, class or lane"
template <DescribedEnum Enum>
std::string known_texts() {
  std::string known;
  constexpr auto& entries = enum_text_detail::kEntries<Enum>;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    known += i == 0 ? "" : i + 1 == entries.size() ? " or " : ", ";
    known += entries[i].text;
  }
  return known;
}

// An enum by the list of its texts; optional: null is none.
struct EnumText {
  std::string_view what = {};                // for the message: "there is no <what> 'x'"
  std::string_view unknown = "there is no";  // the words before it

  template <class Value>
  void read(ObjectReader& reader, std::string_view name, Value& into) const {
    std::optional<std::string> text;
    reader.read_text(name, text);
    if (!text) return;
    if (const auto parsed = parse_enum<Value>(*text)) {
      into = *parsed;
    } else {
      reader.set_error(name, std::string(unknown) + " " + std::string(what) + " " + shown(*text), known_texts<Value>());
    }
  }
  template <class Value>
  Out write(const Value& value) const {
    if constexpr (requires { value.has_value(); }) {
      return value ? Out(railweave::to_text(*value)) : Out(nullptr);
    } else {
      return railweave::to_text(value);
    }
  }
};

// --- lists of fields

template <Name property, class Access, class Form, bool omit, bool is_required>
struct NamedField : Field<Access, Form, omit>, OneProperty<property, omit ? Given::sometimes : Given::always> {
  static constexpr std::string_view kName = property.text();
  static constexpr bool kRequired = is_required;  // reading refuses an object without it
};

template <Name name, class Access, class Form = Plain>
constexpr NamedField<name, Access, Form, false, false> field(Access access, Form form = {}) {
  return {field(name.text(), access, form), {}};
}
template <Name name, class Access, class Form = Plain>
constexpr NamedField<name, Access, Form, false, true> required_field(Access access, Form form = {}) {
  return {required_field(name.text(), access, form), {}};
}
template <Name name, class Access, class Form = Plain>
constexpr NamedField<name, Access, Form, true, false> optional_field(Access access, Form form = {}) {
  return {optional_field(name.text(), access, form), {}};
}

namespace contract_detail {

template <class Value>
struct EnumOf {
  using Type = Value;
};
template <class Value>
struct EnumOf<std::optional<Value>> {
  using Type = Value;
};

// Whether a part's texts are the contract's.
template <Name schema, class Part>
inline constexpr bool kTextsFit = true;
template <Name schema, Name name, DescribedEnum Enum>
inline constexpr bool kTextsFit<schema, With<name, Enum>> =
    gives_texts<schema, name, enum_text_detail::kEntries<Enum>>();
template <Name schema, Name name, class Record, class Value, bool omit, bool is_required>
inline constexpr bool kTextsFit<schema, NamedField<name, Value Record::*, EnumText, omit, is_required>> =
    gives_texts<schema, name, enum_text_detail::kEntries<typename EnumOf<Value>::Type>>();
template <Name schema, class... Parts>
inline constexpr bool kTextsFit<schema, Several<Parts...>> = (kTextsFit<schema, Parts> && ...);
template <Name schema, class Record, class... Fields>
inline constexpr bool kTextsFit<schema, FieldsOf<Record, Fields...>> = (kTextsFit<schema, Fields> && ...);

}  // namespace contract_detail

template <Name schema, class... Fields>
consteval std::tuple<Fields...> fields(Fields... list) {
  static_assert(gives_schema<schema, Fields...>());
  static_assert((contract_detail::kTextsFit<schema, Fields> && ...));
  return {list...};
}

// Of a body: those required are the contract's.
template <Name schema, class... Fields>
consteval std::tuple<Fields...> request_fields(Fields... list) {
  static_assert(requires_schema<schema, Fields...>());
  return fields<schema>(list...);
}

// A body that has these fields and no others.
template <class Record, class... Fields>
Result<Record> read_request(std::string_view body, const std::tuple<Fields...>& fields, Record record = {}) {
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  return record_from_json(*value, "", fields, std::move(record));
}
// A body that may be left out.
constexpr std::string_view or_none(std::string_view body) { return body.empty() ? std::string_view("{}") : body; }

// --- objects

template <Name schema, class... Parts>
Out object(Parts... parts) {
  static_assert(gives_schema<schema, Parts...>());
  static_assert((contract_detail::kTextsFit<schema, Parts> && ...));
  Out value = Out::object();
  value.get_ref<Out::object_t&>().reserve(sizeof...(parts));
  (std::move(parts).add_to(value), ...);
  return value;
}

}  // namespace railweave::api
