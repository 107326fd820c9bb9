#include "db/postgres/binary.h"

#include <bit>
#include <cstring>

namespace railweave::db::postgres {
namespace {

template <class Integer>
void put(std::string& bytes, Integer value) {  // network order
  for (int shift = static_cast<int>(sizeof(Integer)) * 8 - 8; shift >= 0; shift -= 8) {
    bytes += static_cast<char>((value >> shift) & 0xFFU);
  }
}

}  // namespace

std::string binary(std::int64_t value) {
  std::string bytes;
  put(bytes, static_cast<std::uint64_t>(value));
  return bytes;
}

void BinaryArray::add(std::int64_t value) {
  put(elements_, std::uint32_t{8});
  put(elements_, static_cast<std::uint64_t>(value));
  ++size_;
}

void BinaryArray::add(double value) {
  put(elements_, std::uint32_t{8});
  put(elements_, std::bit_cast<std::uint64_t>(value));
  ++size_;
}

void BinaryArray::add(std::string_view bytes) {
  put(elements_, static_cast<std::uint32_t>(bytes.size()));
  elements_ += bytes;
  ++size_;
}

void BinaryArray::add_null() {
  put(elements_, UINT32_MAX);  // length -1
  has_null_ = true;
  ++size_;
}

std::string BinaryArray::bytes() const {
  std::string array;
  array.reserve(elements_.size() + 20);
  put(array, std::uint32_t{size_ == 0 ? 0U : 1U});  // dimensions
  put(array, std::uint32_t{has_null_ ? 1U : 0U});
  put(array, static_cast<std::uint32_t>(type_));
  if (size_ == 0) return array;
  put(array, size_);
  put(array, std::uint32_t{1});  // the first index
  return array + elements_;
}

}  // namespace railweave::db::postgres
