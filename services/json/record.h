// A record's JSON object described once: a list of its fields, each with its name, the member that holds its value and
// the form of the value. The one list reads (strictly, as ObjectReader does) and writes (in the order of the list).
//
//   constexpr std::tuple kAlarmFields{
//       field("kind", &Alarm::kind),
//       field("severity", &Alarm::severity, OneOf{kSeverities, "severity"}),
//       optional_field("jobs", &Alarm::jobs, Strings{Alarm::kMaxJobs})};
//
//   Alarm alarm;
//   read_fields(reader, alarm, kAlarmFields);     // then reader.finish()
//   Out value = fields_json(alarm, kAlarmFields);
//
// A field that is absent leaves its member as it is. What does not fit a list (a field that moved, one that depends on
// another) is read and written by hand beside it. Pure and stateless: lists are constants, used from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "fabric/base/units.h"
#include "services/json/json_out.h"
#include "services/json/strict_json.h"

namespace railweave::api {

// --- forms: how a value is read and written

// By the type of the member: texts, booleans, numbers (integers are not negative), rates in Mb/s, optional values
// (null: none).
struct Plain {
  template <class Value>
  void read(ObjectReader& reader, std::string_view name, Value& into) const {
    if constexpr (std::is_same_v<Value, std::int64_t>) {
      std::uint64_t wide = static_cast<std::uint64_t>(into);
      reader.read(name, wide);
      into = static_cast<std::int64_t>(wide);
    } else if constexpr (std::is_same_v<Value, RateMbps>) {
      std::uint64_t mbps = 0;
      reader.read(name, mbps);
      if (reader.has(name)) into = RateMbps(static_cast<std::int64_t>(mbps));
    } else if constexpr (std::is_same_v<Value, std::optional<RateMbps>>) {
      std::optional<std::uint64_t> mbps;
      reader.read(name, mbps);
      if (mbps) into = RateMbps(static_cast<std::int64_t>(*mbps));
    } else {
      reader.read(name, into);
    }
  }
  template <class Value>
  Out write(const Value& value) const {
    if constexpr (requires { value.has_value(); }) {
      return value ? write(*value) : Out(nullptr);
    } else if constexpr (std::is_same_v<Value, RateMbps>) {
      return value.value();
    } else {
      return value;
    }
  }
};

// An integer from 0 to `max`, of a type that is narrower than JSON's.
struct UpTo {
  std::uint64_t max;

  template <class Value>
  void read(ObjectReader& reader, std::string_view name, Value& into) const {
    std::uint64_t wide = into;
    reader.read(name, wide, max);
    into = static_cast<Value>(wide);
  }
  template <class Value>
  Out write(Value value) const {
    return value;
  }
};

// A list of texts of at most `max_items`.
struct Strings {
  std::size_t max_items = std::numeric_limits<std::size_t>::max();

  void read(ObjectReader& reader, std::string_view name, std::vector<std::string>& into) const {
    reader.read(name, into, max_items);
  }
  Out write(const std::vector<std::string>& value) const { return value; }
};

template <class Value, std::size_t n>
using Names = std::array<std::pair<std::string_view, Value>, n>;

// One of several named values.
template <class Value, std::size_t n>
struct OneOf {
  const Names<Value, n>& names;
  std::string_view what;  // for the message: "there is no <what> 'x'"

  [[nodiscard]] std::string_view name_of(const Value& value) const {
    for (const auto& [name, candidate] : names) {
      if (candidate == value) return name;
    }
    return "";
  }
  void read(ObjectReader& reader, std::string_view field, Value& into) const {
    std::optional<std::string> text;
    reader.read_text(field, text);
    if (!text) return;
    std::string known;
    for (std::size_t i = 0; i < n; ++i) {
      if (*text == names[i].first) {
        into = names[i].second;
        return;
      }
      known += (i == 0 ? "" : i + 1 == n ? " or " : ", ") + std::string(names[i].first);
    }
    reader.set_error(field, "there is no " + std::string(what) + " " + shown(*text), known);
  }
  [[nodiscard]] Out write(const Value& value) const { return name_of(value); }
};
template <class Value, std::size_t n>
OneOf(const Names<Value, n>&, std::string_view) -> OneOf<Value, n>;

// A value with a text of its own: to(value) and from(text), which returns none for an unknown text.
template <class To, class From>
struct ByText {
  To to;
  From from;
  std::string_view what;  // for the message: "there is no <what> 'x'"
  std::string_view hint = {};

  template <class Value>
  void read(ObjectReader& reader, std::string_view name, Value& into) const {
    std::optional<std::string> text;
    reader.read_text(name, text);
    if (!text) return;
    if (const auto parsed = from(*text)) {
      into = *parsed;
    } else {
      reader.set_error(name, "there is no " + std::string(what) + " " + shown(*text), std::string(hint));
    }
  }
  template <class Value>
  Out write(const Value& value) const {
    return to(value);
  }
};
template <class To, class From>
ByText(To, From, std::string_view, std::string_view = {}) -> ByText<To, From>;

// A value with functions of its own: to(value) -> Out, from(json, pointer) -> Result. Optional members: null is none.
template <class To, class From>
struct Embedded {
  To to;
  From from;

  template <class Value>
  void read(ObjectReader& reader, std::string_view name, Value& into) const {
    const Json* value = reader.take(name);
    if (value == nullptr || value->is_null()) return;
    auto read = from(*value, reader.pointer(name));
    if (!read) return reader.set_error(std::move(read.error()));
    into = std::move(*read);
  }
  template <class Value>
  Out write(const Value& value) const {
    if constexpr (requires { value.has_value(); }) {
      return value ? to(*value) : Out(nullptr);
    } else {
      return to(value);
    }
  }
};
template <class To, class From>
Embedded(To, From) -> Embedded<To, From>;

// --- fields

template <class Access, class Form, bool omit>
struct Field {
  std::string_view name;
  Access access;  // a member pointer, or a function of the record that returns a reference
  Form form;
  bool required = false;                      // reading refuses an object without it
  static constexpr bool kOmitDefault = omit;  // not written where the value is as in a new record
};

template <class Access, class Form = Plain>
constexpr Field<Access, Form, false> field(std::string_view name, Access access, Form form = {}) {
  return {name, access, form, false};
}
template <class Access, class Form = Plain>
constexpr Field<Access, Form, false> required_field(std::string_view name, Access access, Form form = {}) {
  return {name, access, form, true};
}
template <class Access, class Form = Plain>
constexpr Field<Access, Form, true> optional_field(std::string_view name, Access access, Form form = {}) {
  return {name, access, form, false};
}

template <class Record, class... Fields>
void read_fields(ObjectReader& reader, Record& record, const std::tuple<Fields...>& fields) {
  std::apply(
      [&](const auto&... each) {
        (
            [&] {
              if (each.required) reader.require(each.name);
              each.form.read(reader, each.name, std::invoke(each.access, record));
            }(),
            ...);
      },
      fields);
}

// Adds the fields to an object.
template <class Record, class... Fields>
void write_fields(Out& value, const Record& record, const std::tuple<Fields...>& fields) {
  std::apply(
      [&](const auto&... each) {
        (
            [&] {
              const auto& member = std::invoke(each.access, record);
              if constexpr (std::remove_cvref_t<decltype(each)>::kOmitDefault) {
                static const Record fresh{};
                if (member == std::invoke(each.access, fresh)) return;
              }
              value[std::string(each.name)] = each.form.write(member);
            }(),
            ...);
      },
      fields);
}

template <class Record, class... Fields>
Out fields_json(const Record& record, const std::tuple<Fields...>& fields) {
  Out value = Out::object();
  write_fields(value, record, fields);
  return value;
}

// A whole object that has these fields and no others.
template <class Record, class... Fields>
Result<Record> record_from_json(const Json& value, const std::string& pointer, const std::tuple<Fields...>& fields,
                                Record record = {}) {
  ObjectReader reader(value, pointer);
  read_fields(reader, record, fields);
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  return record;
}

// A list of records, replaced as a whole by reading. A form.
template <class Record, class Fields>
struct ListOf {
  const Fields& fields;

  void read(ObjectReader& reader, std::string_view name, std::vector<Record>& into) const {
    const Json* list = reader.take(name);
    if (list == nullptr) return;
    if (!list->is_array()) return reader.set_error(name, "is not a list");
    into.clear();
    for (std::size_t i = 0; i < list->size(); ++i) {
      auto read = record_from_json<Record>((*list)[i], reader.pointer(name) + "/" + std::to_string(i), fields);
      if (!read) return reader.set_error(std::move(read.error()));
      into.push_back(std::move(*read));
    }
  }
  Out write(const std::vector<Record>& records) const {
    Out list = Out::array();
    for (const auto& record : records) list.push_back(fields_json(record, fields));
    return list;
  }
};
template <class Record, class Fields>
constexpr ListOf<Record, Fields> list_of(const Fields& fields) {
  return {fields};
}

}  // namespace railweave::api
