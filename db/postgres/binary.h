// Values in PostgreSQL's binary wire format, so that a batch crosses the wire as its bytes are, neither quoted nor as
// hexadecimal digits. https://www.postgresql.org/docs/15/protocol-overview.html (formats); arrays as array_recv reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railweave::db::postgres {

std::string binary(std::int64_t value);                                         // bigint
inline std::string binary(std::string_view text) { return std::string(text); }  // text, bytea

// Element types by their object ids in pg_type, which are the same in every release.
enum class ElementType : std::uint32_t { bytea = 17, bigint = 20, text = 25, real = 701 };

std::string_view type_name(ElementType type);

// A one-dimensional array, built element by element.
class BinaryArray {
 public:
  explicit BinaryArray(ElementType type);
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  void add(std::int64_t value);
  void add(double value);
  void add(std::string_view bytes);
  void add_null();
  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool has_only_nulls() const { return nulls_ == size_; }
  [[nodiscard]] std::string bytes() &&;
  // The value of an array of one, which is not null.
  [[nodiscard]] std::string single() &&;

 private:
  ElementType type_;
  std::string bytes_;  // with room for the heading
  std::uint32_t size_ = 0, nulls_ = 0;
};

}  // namespace railweave::db::postgres
