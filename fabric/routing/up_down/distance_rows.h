// Arithmetic on rows of distances: one byte per home, in links, kUnreachable where there is no route. Flags are 0 or
// 255. Rows are padded to kRowBlock bytes, and all loops run over whole blocks without branches, so that compilers turn
// them into vector code. Reach and TableFill are made of these.
#pragma once

#include <cstddef>
#include <cstdint>

namespace railweave::fabric {

inline constexpr std::uint8_t kUnreachable = UINT8_MAX;  // 254 counts as unreachable too: no route is that long
inline constexpr std::size_t kRowBlock = 64;

// All functions work on n bytes, n a multiple of kRowBlock, of rows that do not overlap.
// to = min(to, from + 1)
void relax_over_link(std::uint8_t* to, const std::uint8_t* from, std::size_t n);
// to = min(to, from + 1) where `where`
void relax_over_link_where(std::uint8_t* to, const std::uint8_t* from, const std::uint8_t* where, std::size_t n);
// to = down where down is not kUnreachable, else by_up
void prefer_down(std::uint8_t* to, const std::uint8_t* down, const std::uint8_t* by_up, std::size_t n);
// to = min(a, b)
void minimum(std::uint8_t* to, const std::uint8_t* a, const std::uint8_t* b, std::size_t n);
// to = a < b, as a flag
void flag_shorter(std::uint8_t* to, const std::uint8_t* a, const std::uint8_t* b, std::size_t n);
// to |= below + 1 == above, where `where`
void flag_next_where(std::uint8_t* to, const std::uint8_t* below, const std::uint8_t* above, const std::uint8_t* where,
                     std::size_t n);
// The rows of a switch on an order that is not layered; reach.h explains the rules.
struct SwitchRows {
  const std::uint8_t* down;          // distance going down
  const std::uint8_t* natural_down;  // distance going down through children that go down naturally
  const std::uint8_t* by_up;         // distance going up
  const std::uint8_t* must;          // flag: must go down
  std::uint8_t* total;               // out: distance
  std::uint8_t* no_up;               // out, flag
  std::uint8_t* any_child;           // out, flag
};
void choose_directions(const SwitchRows& rows, std::size_t n);
// count += 1 and last = number where below + 1 == here and not barred
void count_next(std::uint8_t* count, std::uint8_t* last, std::uint8_t number, const std::uint8_t* below,
                const std::uint8_t* here, const std::uint8_t* barred, std::size_t n);

// to = below + 1 == here and not barred, as a flag
void flag_next(std::uint8_t* to, const std::uint8_t* below, const std::uint8_t* here, const std::uint8_t* barred,
               std::size_t n);

}  // namespace railweave::fabric
