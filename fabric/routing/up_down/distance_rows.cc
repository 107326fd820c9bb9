#include "fabric/routing/up_down/distance_rows.h"

namespace railweave::fabric {

namespace {

constexpr std::uint8_t flag(bool condition) { return condition ? UINT8_MAX : 0; }
constexpr std::uint8_t select(std::uint8_t condition, std::uint8_t yes, std::uint8_t no) {
  return static_cast<std::uint8_t>((yes & condition) | (no & ~condition));
}
constexpr std::uint8_t plus_one(std::uint8_t distance) {
  return static_cast<std::uint8_t>(distance + (distance != kUnreachable ? 1 : 0));
}
constexpr std::uint8_t is_next(std::uint8_t below, std::uint8_t above) {
  return flag(below < kUnreachable - 1) & flag(static_cast<std::uint8_t>(below + 1) == above);
}

// f(i) for all i, in blocks whose length the compiler knows.
template <class F>
inline void for_each_byte(std::size_t n, F f) {
  for (std::size_t block = 0; block < n; block += kRowBlock) {
    for (std::size_t i = block; i < block + kRowBlock; ++i) f(i);
  }
}

}  // namespace

void relax_over_link(std::uint8_t* __restrict to, const std::uint8_t* __restrict from, std::size_t n) {
  for_each_byte(n, [=](std::size_t i) {
    const std::uint8_t longer = plus_one(from[i]);
    to[i] = longer < to[i] ? longer : to[i];
  });
}

void relax_over_link_where(std::uint8_t* __restrict to, const std::uint8_t* __restrict from,
                           const std::uint8_t* __restrict where, std::size_t n) {
  for_each_byte(n, [=](std::size_t i) {
    const auto longer = static_cast<std::uint8_t>(plus_one(from[i]) | ~where[i]);
    to[i] = longer < to[i] ? longer : to[i];
  });
}

void prefer_down(std::uint8_t* __restrict to, const std::uint8_t* __restrict down, const std::uint8_t* __restrict by_up,
                 std::size_t n) {
  for_each_byte(n, [=](std::size_t i) { to[i] = down[i] != kUnreachable ? down[i] : by_up[i]; });
}

void minimum(std::uint8_t* __restrict to, const std::uint8_t* __restrict a, const std::uint8_t* __restrict b,
             std::size_t n) {
  for_each_byte(n, [=](std::size_t i) { to[i] = a[i] < b[i] ? a[i] : b[i]; });
}

void flag_shorter(std::uint8_t* __restrict to, const std::uint8_t* __restrict a, const std::uint8_t* __restrict b,
                  std::size_t n) {
  for_each_byte(n, [=](std::size_t i) { to[i] = flag(a[i] < b[i]); });
}

void flag_next_where(std::uint8_t* __restrict to, const std::uint8_t* __restrict below,
                     const std::uint8_t* __restrict above, const std::uint8_t* __restrict where, std::size_t n) {
  for_each_byte(
      n, [=](std::size_t i) { to[i] = static_cast<std::uint8_t>(to[i] | (is_next(below[i], above[i]) & where[i])); });
}

void choose_directions(const SwitchRows& rows, std::size_t n) {
  const std::uint8_t* __restrict down = rows.down;
  const std::uint8_t* __restrict natural_down = rows.natural_down;
  const std::uint8_t* __restrict by_up = rows.by_up;
  const std::uint8_t* __restrict must = rows.must;
  std::uint8_t* __restrict total = rows.total;
  std::uint8_t* __restrict no_up = rows.no_up;
  std::uint8_t* __restrict any_child = rows.any_child;
  for_each_byte(n, [=](std::size_t i) {
    const std::uint8_t free = by_up[i] < natural_down[i] ? by_up[i] : natural_down[i];
    const auto goes_down = static_cast<std::uint8_t>(must[i] | flag(free == kUnreachable));
    total[i] = select(goes_down, down[i], free);
    no_up[i] = goes_down;
    any_child[i] = goes_down & flag(natural_down[i] != down[i]);
  });
}

void count_next(std::uint8_t* __restrict count, std::uint8_t* __restrict last, std::uint8_t number,
                const std::uint8_t* __restrict below, const std::uint8_t* __restrict here,
                const std::uint8_t* __restrict barred, std::size_t n) {
  for_each_byte(n, [=](std::size_t i) {
    const auto is = static_cast<std::uint8_t>(is_next(below[i], here[i]) & ~barred[i]);
    count[i] = static_cast<std::uint8_t>(count[i] - is);
    last[i] = select(is, number, last[i]);
  });
}

void flag_next(std::uint8_t* __restrict to, const std::uint8_t* __restrict below, const std::uint8_t* __restrict here,
               const std::uint8_t* __restrict barred, std::size_t n) {
  for_each_byte(n, [=](std::size_t i) { to[i] = static_cast<std::uint8_t>(is_next(below[i], here[i]) & ~barred[i]); });
}

}  // namespace railweave::fabric
