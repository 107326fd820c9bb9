// Which jobs send how much over each link of some numbering, and the residual capacity for one more job. Each placed
// job sends at the mean rate of its training step, since steps of different jobs are not synchronised.
//
// The residual capacity is a max-min fair share: the new job's flows and those of others, capped at what they send, get
// equal rates up to their caps. Each link is considered on its own: that others may be slowed down on another link does
// not count, so more traffic never means more residual capacity. The slowest flow of a phase at max-min rates gets
// exactly that share of its link (Bertsekas and Gallager, Data Networks, 6.5.2): no other flow is frozen before it.
//
// Rates are integers (kb/s), so that the result depends on the set of senders only, never on the order of their
// arrival.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "scheduler/collective/link_traffic.h"

namespace railweave::scheduler {

class LinkSenders {
 public:
  struct Sender {
    std::uint64_t job = 0;
    std::int64_t kbps = 0;
    std::uint32_t flows = 0;
  };

  LinkSenders() = default;
  explicit LinkSenders(std::size_t links) : on_(links) {}

  // period_us: of a step; a job whose period is not finite and above 0 sends nothing. Add each job once. O(its links).
  void add(std::uint64_t job, const LinkTraffic& traffic, double period_us);
  void remove(std::uint64_t job);  // no effect for an unknown job

  [[nodiscard]] std::span<const Sender> on(std::uint32_t link) const { return on_[link]; }  // by job, ascending
  [[nodiscard]] std::span<const std::uint32_t> links(std::uint64_t job) const;              // that it sends over
  [[nodiscard]] std::size_t size() const { return links_of_.size(); }

  // Mb/s that `flows` more flows get together beside those of other jobs. own: the job whose flows do not count as
  // others'.
  [[nodiscard]] double residual_mbps(std::uint32_t link, double capacity_mbps, std::uint32_t flows,
                                     std::uint64_t own = 0) const;
  [[nodiscard]] double others_mbps(std::uint32_t link, std::uint64_t own = 0) const;

 private:
  std::vector<std::vector<Sender>> on_;  // by link
  std::map<std::uint64_t, std::vector<std::uint32_t>> links_of_;
};

// The time of a group's bytes on the links, without (senders null) or beside what others send.
struct PhasesTime {
  double us = 0;                       // of all phases; infinite over a link without capacity
  std::uint32_t slowest = UINT32_MAX;  // link that the longest phase waits for; none: none of those listed
};
PhasesTime phases_time(const GroupLoad& load, std::span<const double> capacity_mbps, const LinkSenders* senders,
                       std::uint64_t own = 0);

}  // namespace railweave::scheduler
