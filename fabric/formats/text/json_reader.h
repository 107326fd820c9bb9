// A pull parser for JSON documents (RFC 8259) whose shape is known: it builds no tree, so memory is that of what the
// caller keeps, and every error knows its line and column. The caller descends with object() and array() and takes each
// value with the function of its type; the first error stops everything. Stricter than JSON where our
// own files allow it: no field twice in one object, no text after the document, numbers that must be whole are whole.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "fabric/formats/text/read_options.h"

namespace railweave::fabric {

class JsonReader {
 public:
  // `at`: where in the text to start, for reading part of a document again.
  JsonReader(std::string_view text, std::string_view source, std::size_t at = 0)
      : text_(text), source_(source), at_(at) {}

  [[nodiscard]] bool ok() const { return error_.message.empty(); }
  [[nodiscard]] const Error& error() const { return error_; }
  [[nodiscard]] std::size_t offset() const { return at_; }

  // on_field(name) must take the field's value and return false to stop (after fail()). The name is valid until then.
  template <class OnField>
  bool object(OnField on_field) {
    Names seen;
    return entries([&](std::string_view name) { return seen.add(name, *this) && on_field(name); });
  }

  // An object whose keys are data: any number of them, and one may come twice.
  template <class OnEntry>
  bool entries(OnEntry on_entry) {
    if (!open('{')) return false;
    if (close('}')) return leave();
    do {
      std::string_view name;
      if (!field_name(name) || !on_entry(name)) return false;
    } while (ok() && next('}'));
    return ok() && leave();
  }

  // on_element() must take one element.
  template <class OnElement>
  bool array(OnElement on_element) {
    if (!open('[')) return false;
    if (close(']')) return leave();
    do {
      if (!on_element()) return false;
    } while (ok() && next(']'));
    return ok() && leave();
  }

  bool string(std::string& value);  // any valid text
  // A string, or a list of strings, with commas between them; what is neither is passed over.
  bool names(std::string& list);
  bool name(std::string& value);  // clean (name_text.h) and at most kMaxStoredNameBytes
  bool boolean(bool& value);
  bool whole_number(std::uint64_t& value, std::uint64_t max);
  template <class Unsigned>
  bool whole_number(Unsigned& value, std::uint64_t max) {
    std::uint64_t wide = 0;
    if (!whole_number(wide, max)) return false;
    value = static_cast<Unsigned>(wide);
    return true;
  }
  bool decimal(float& value);  // finite, not negative
  bool skip_value();           // of any type, nested at most kMaxDepth deep
  bool end();                  // nothing but blanks follows

  // The character that starts the next value, after blanks; 0 at the end.
  char peek();
  std::size_t value_offset();  // where the next value starts

  // Sets the error, unless there is one, at the value last started; returns false.
  bool fail(std::string message, std::string code = "json.value");
  bool fail_at(std::size_t offset, std::string message, std::string code = "json.value");
  bool too_large(std::string message);
  bool unknown_field(std::string_view field, std::string_view where);

 private:
  static constexpr std::size_t kMaxDepth = 64;

  // Names of one object's fields so far. The documents read with this have few; an object with many is refused.
  class Names {
   public:
    bool add(std::string_view name, JsonReader& reader);

   private:
    std::array<std::uint64_t, 24> hashes_;  // of the names: a collision would refuse a good file, once in 2^60 objects
    std::size_t count_ = 0;
  };

  void skip_blanks();
  bool open(char bracket);
  bool close(char bracket);  // takes it where it is next
  bool next(char bracket);   // takes ',' -> true, the bracket -> false; anything else is an error
  bool leave();
  bool field_name(std::string_view& name);
  bool raw_string(std::string_view& value);  // into the text, or into scratch_ where there are escapes
  bool escape(std::size_t& at);
  bool number_text(std::string_view& value);
  bool skip_scalar();

  std::string_view text_;
  std::string_view source_;
  std::size_t at_;
  std::size_t started_ = 0;  // the value or name last started
  std::size_t depth_ = 0;
  std::string scratch_;
  Error error_;
};

}  // namespace railweave::fabric
