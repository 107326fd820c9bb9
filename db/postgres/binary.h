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

// A one-dimensional array, built element by element.
class BinaryArray {
 public:
  explicit BinaryArray(ElementType type) : type_(type) {}
  void add(std::int64_t value);
  void add(double value);
  void add(std::string_view bytes);
  void add_null();
  [[nodiscard]] std::string bytes() const;

 private:
  ElementType type_;
  std::string elements_;
  std::uint32_t size_ = 0;
  bool has_null_ = false;
};

}  // namespace railweave::db::postgres
