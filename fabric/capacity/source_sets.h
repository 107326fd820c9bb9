// The different sets of a job's sources whose packets share a link, each stored once (hash consing): the number of
// different sets is small, whatever the number of links and targets. Sets are bits, 64 per word, in one pool; an open
// addressing table finds them, and the newest sets can be removed again. One per thread.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace railweave::fabric {

class SourceSets {
 public:
  using Id = std::uint32_t;

  // send: of each source, in Mb/s. The set {i} has the id i.
  explicit SourceSets(std::vector<std::int64_t> send);

  [[nodiscard]] std::size_t size() const { return send_.size(); }
  [[nodiscard]] std::span<const std::uint64_t> members(Id id) const {
    return std::span(pool_).subspan(id * words_, words_);
  }
  Id intern(std::span<const std::uint64_t> set);
  Id united(Id a, Id b);
  Id without(Id a, Id b);
  // Removes the newest sets until `to` are left.
  void shrink(std::size_t to);

  // The largest total rate that the sources can send at once: a maximum b-matching (b_matching.h) of sources and
  // targets. targets: for each set, once, what the targets that it reaches receive together.
  [[nodiscard]] std::int64_t max_rate(std::span<const std::pair<Id, std::int64_t>> targets) const;

 private:
  [[nodiscard]] std::uint64_t hash(std::span<const std::uint64_t> members) const;
  [[nodiscard]] std::int64_t sum_of(std::span<const std::uint64_t> members) const;
  [[nodiscard]] std::int64_t max_rate_by_flow(std::span<const std::pair<Id, std::int64_t>> targets) const;
  void grow();

  static constexpr Id kFree = UINT32_MAX;
  std::vector<std::int64_t> source_send_;
  std::size_t words_;
  std::vector<std::uint64_t> pool_;
  std::vector<std::int64_t> send_;      // by id
  std::vector<Id> slots_;               // open addressing
  std::vector<std::uint32_t> slot_of_;  // by id, to remove the newest
  std::vector<std::uint64_t> scratch_;
};

}  // namespace railweave::fabric
