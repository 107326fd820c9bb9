// Strong ids: dense indices into the tables of one Topology. A bare integer is never a host, a port or a link.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace railweave {

template <class Tag>
class Id {
 public:
  using value_type = std::uint32_t;
  static constexpr value_type kNone = UINT32_MAX;

  constexpr Id() = default;
  constexpr explicit Id(std::size_t index) : value_(static_cast<value_type>(index)) {}

  [[nodiscard]] constexpr std::size_t index() const { return value_; }
  [[nodiscard]] constexpr value_type value() const { return value_; }
  [[nodiscard]] constexpr bool valid() const { return value_ != kNone; }
  constexpr explicit operator bool() const { return valid(); }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  value_type value_ = kNone;
};

// A half-open range of consecutive ids, for range-for.
template <class IdType>
class IdRange {
 public:
  class iterator {
   public:
    using value_type = IdType;
    using difference_type = std::ptrdiff_t;
    constexpr iterator() = default;
    constexpr explicit iterator(std::size_t index) : index_(index) {}
    constexpr IdType operator*() const { return IdType(index_); }
    constexpr iterator& operator++() {
      ++index_;
      return *this;
    }
    constexpr iterator operator++(int) {
      iterator old = *this;
      ++index_;
      return old;
    }
    friend constexpr bool operator==(iterator, iterator) = default;

   private:
    std::size_t index_ = 0;
  };

  constexpr IdRange() = default;
  constexpr IdRange(std::size_t begin, std::size_t end) : begin_(begin), end_(end) {}
  [[nodiscard]] constexpr iterator begin() const { return iterator(begin_); }
  [[nodiscard]] constexpr iterator end() const { return iterator(end_); }
  [[nodiscard]] constexpr std::size_t size() const { return end_ - begin_; }
  [[nodiscard]] constexpr bool empty() const { return begin_ == end_; }
  [[nodiscard]] constexpr IdType operator[](std::size_t i) const { return IdType(begin_ + i); }
  [[nodiscard]] constexpr IdType front() const { return IdType(begin_); }

 private:
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace railweave

template <class Tag>
struct std::hash<railweave::Id<Tag>> {
  std::size_t operator()(railweave::Id<Tag> id) const noexcept { return std::hash<std::uint32_t>{}(id.value()); }
};
