// Searches for seats on whose links a job's guarantee has room. Says that there are none only where that is proven: by
// the numbers of seats that the links of switches bound (seat_counts.h), or because all choices were looked at, each once
// up to seats that are alike (seat_classes.h). More seats never put less on a link, so what does not fit as a part is
// looked at no further.
//
//   SearchWork work{200'000};
//   SeatSearch search(seats, SeatLoads(ledger, loads, demand), work);
//   switch (search.run([&](const auto& seats) { return place_there(seats); })) ...
//
// Deterministic. Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fabric/base/draws.h"
#include "scheduler/admission/seat_classes.h"
#include "scheduler/admission/seat_counts.h"
#include "scheduler/admission/seat_loads.h"

namespace railweave::scheduler {

class SeatSearch {
 public:
  enum class Verdict : std::uint8_t {
    found,
    none,     // proven
    gave_up,  // there may be some: the work or the number of answers is used up
  };
  enum class Proof : std::uint8_t {
    too_few,  // seats
    counts,   // the links around switches
    all,      // every choice
  };

  // Borrows the seats and the work.
  SeatSearch(std::span<const Seat> seats, SeatLoads loads, SearchWork& work);

  // offer: seats whose load fits. True: they are taken, and the search ends.
  using Offer = std::function<bool(std::span<const std::uint32_t> seats)>;
  Verdict run(const Offer& offer);

  [[nodiscard]] Proof proof() const { return proof_; }                  // of Verdict::none
  [[nodiscard]] std::uint64_t looked_at() const { return looked_at_; }  // sets of seats

 private:
  using Counts = std::vector<std::uint32_t>;  // by class
  enum class End : std::uint8_t { found, exhausted, gave_up };

  [[nodiscard]] std::vector<std::uint32_t> seats_of(const Counts& counts) const;
  [[nodiscard]] std::uint64_t units_of(const Counts& counts) const;
  // none: no work is left.
  [[nodiscard]] std::optional<SeatExcess> excess(const Counts& counts, bool spare_a_link);
  bool offer(const Counts& counts, const Offer& offer);
  // --- from some choices to better ones
  bool improve_starts(const Offer& offer);
  [[nodiscard]] std::vector<Counts> starts();
  [[nodiscard]] Counts start_of(std::span<const std::uint32_t> order) const;
  [[nodiscard]] Counts spread_over_classes(const std::vector<std::size_t>& by_group) const;
  bool improve(Counts counts, bool spare_a_link, const Offer& to);
  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> moves_of(const Counts& counts);
  bool improve_once(Counts& counts, std::int64_t& cost, bool spare_a_link);
  [[nodiscard]] bool complete(Counts& counts, std::size_t but) const;
  // --- every choice
  End enumerate(const Offer& to);
  End enumerate_from(std::size_t next, Counts& counts, std::uint64_t units, std::size_t in_group, std::size_t seats,
                     const Offer& to);

  std::span<const Seat> seats_;
  SeatLoads loads_;
  SearchWork& work_;
  SeatClasses classes_;
  SeatCounts counts_;
  std::size_t most_ports_ = 0;             // of the whole job
  std::vector<std::uint64_t> units_from_;  // of this class and all after it
  std::vector<fabric::PortId> ports_;      // scratch
  std::vector<Counts> offered_;
  Draws random_;
  std::uint64_t looked_at_ = 0;
  std::size_t offers_ = 0;
  Proof proof_ = Proof::all;
};

}  // namespace railweave::scheduler
