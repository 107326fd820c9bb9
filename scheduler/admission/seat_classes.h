// Seats that are alike for every guarantee: packets to them take the same routes from every switch, those from them
// start at the same switches, and their own cables have the same left. Exchanging one for another changes no load
// anywhere else, so only numbers of seats of each class have to be searched.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/capacity/hose_load.h"
#include "fabric/capacity/ledger.h"
#include "scheduler/admission/seat.h"

namespace railweave::scheduler {

struct SeatClass {
  std::vector<std::uint32_t> seats;  // indices
  std::uint32_t group = 0;           // of classes whose ports are cabled to the same switches
};

struct SeatClasses {
  std::vector<SeatClass> classes;       // in order of groups
  std::vector<std::uint32_t> first{0};  // class of each group, and the end
  [[nodiscard]] std::uint32_t groups() const { return static_cast<std::uint32_t>(first.size() - 1); }
  // False: the fabric is too large to compare all routes, or packets are spread over several of them; every seat is a
  // class of its own then.
  bool compared = true;
  std::uint64_t entries = 0;  // of tables, that were compared
};

// What comparing may cost, in table entries.
inline constexpr std::uint64_t kMaxEntriesCompared = 500'000;

SeatClasses seat_classes(std::span<const Seat> seats, const fabric::FabricView& view,
                         const fabric::ForwardingTables& tables, const fabric::Ledger& ledger);

}  // namespace railweave::scheduler
