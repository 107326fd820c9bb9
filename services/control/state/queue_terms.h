// What its users have said about a job's turn in the queue: who holds it back, and a place that it exchanged with others
// of its tenant.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace railweave::control {

// A held job waits until it is released.
struct JobHold {
  static constexpr std::size_t kMaxReason = 500;

  std::string by;            // the actor
  bool by_operator = false;  // members of tenants do not release it
  std::string reason;
  std::int64_t since_us = 0;
  friend bool operator==(const JobHold&, const JobHold&) = default;
  // "held by alice: wrong data set"
  [[nodiscard]] std::string text() const { return "held by " + by + (reason.empty() ? "" : ": " + reason); }
};

// The turn of a job: since when it counts as waiting, then a number. Jobs that are put into another order exchange their
// places, so that the jobs of other tenants are passed by no more than before.
struct QueuePlace {
  std::int64_t since_us = 0;
  std::uint64_t number = 0;
  friend constexpr auto operator<=>(const QueuePlace&, const QueuePlace&) = default;
};

struct QueueTerms {
  std::optional<JobHold> hold;
  QueuePlace exchanged;  // {}: none, its place is its own
  // Until when it waits for a better place than the one that it could start at; 0: it had none yet since it is queued.
  std::int64_t place_until_us = 0;
};

}  // namespace railweave::control
