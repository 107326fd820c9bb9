#include "db/postgres/binary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "fabric/base/check.h"

namespace railweave::db::postgres {
namespace {

// Dimensions, whether there are nulls, the type, the length and the first index: 4 bytes each.
constexpr std::size_t kHeadingBytes = 20, kElementHeadingBytes = 4;

template <class Integer>
std::array<char, sizeof(Integer)> network_order(Integer value) {
  if constexpr (std::endian::native == std::endian::little) value = std::byteswap(value);
  return std::bit_cast<std::array<char, sizeof(Integer)>>(value);
}

template <class Integer>
void put(std::string& bytes, Integer value) {
  const auto ordered = network_order(value);
  bytes.append(ordered.data(), ordered.size());
}

template <class Integer>
void put_at(std::string& bytes, std::size_t where, Integer value) {
  const auto ordered = network_order(value);
  std::ranges::copy(ordered, bytes.begin() + static_cast<std::ptrdiff_t>(where));
}

}  // namespace

std::string_view type_name(ElementType type) {
  switch (type) {
    case ElementType::bytea:
      return "bytea";
    case ElementType::bigint:
      return "bigint";
    case ElementType::text:
      return "text";
    case ElementType::real:
      return "double precision";
  }
  return "";
}

BinaryArray::BinaryArray(ElementType type) : type_(type), bytes_(kHeadingBytes, '\0') {}

std::string binary(std::int64_t value) {
  std::string bytes;
  put(bytes, static_cast<std::uint64_t>(value));
  return bytes;
}

void BinaryArray::add(std::int64_t value) {
  put(bytes_, std::uint32_t{8});
  put(bytes_, static_cast<std::uint64_t>(value));
  ++size_;
}

void BinaryArray::add(double value) {
  put(bytes_, std::uint32_t{8});
  put(bytes_, std::bit_cast<std::uint64_t>(value));
  ++size_;
}

void BinaryArray::add(std::string_view bytes) {
  put(bytes_, static_cast<std::uint32_t>(bytes.size()));
  bytes_ += bytes;
  ++size_;
}

void BinaryArray::add_null() {
  put(bytes_, UINT32_MAX);  // length -1
  ++nulls_;
  ++size_;
}

std::string BinaryArray::bytes() && {
  put_at(bytes_, 0, std::uint32_t{size_ == 0 ? 0U : 1U});
  put_at(bytes_, 4, std::uint32_t{nulls_ > 0 ? 1U : 0U});
  put_at(bytes_, 8, static_cast<std::uint32_t>(type_));
  put_at(bytes_, 12, size_);
  put_at(bytes_, 16, std::uint32_t{1});
  if (size_ == 0) bytes_.resize(12);
  return std::move(bytes_);
}

std::string BinaryArray::single() && {
  RAILWEAVE_CHECK(size_ == 1 && nulls_ == 0, "an array of one value");
  bytes_.erase(0, kHeadingBytes + kElementHeadingBytes);
  return std::move(bytes_);
}

}  // namespace railweave::db::postgres
