// Sets of a job's sources that meet on links, each kept once: there are few different ones, whatever the number of
// links and targets.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace railweave::fabric {

class SourceSets {
 public:
  using Id = std::uint32_t;

  // By source what it sends. The set {i} has the id i.
  explicit SourceSets(std::vector<std::int64_t> send);

  [[nodiscard]] std::size_t size() const { return send_.size(); }
  [[nodiscard]] std::span<const std::uint64_t> members(Id id) const {
    return std::span(pool_).subspan(id * words_, words_);
  }
  Id intern(std::span<const std::uint64_t> members);
  Id united(Id a, Id b);
  Id without(Id a, Id b);
  // Forgets the sets that were made since there were so many.
  void shrink(std::size_t size);

  // The most that the sources can send at once to targets of which all that receive by one set together take so much:
  // a maximum b-matching. (set, what its targets receive), each set once.
  [[nodiscard]] std::int64_t most_sent(std::span<const std::pair<Id, std::int64_t>> targets) const;

 private:
  [[nodiscard]] std::uint64_t hash(std::span<const std::uint64_t> members) const;
  [[nodiscard]] std::int64_t sum_of(std::span<const std::uint64_t> members) const;
  [[nodiscard]] std::int64_t most_by_flow(std::span<const std::pair<Id, std::int64_t>> targets) const;
  void grow();

  static constexpr Id kFree = UINT32_MAX;
  std::vector<std::int64_t> source_send_;
  std::size_t words_;
  std::vector<std::uint64_t> pool_;
  std::vector<std::int64_t> send_;      // by id
  std::vector<Id> slots_;               // open addressing
  std::vector<std::uint32_t> slot_of_;  // by id, so that the last ones can be taken out again
  std::vector<std::uint64_t> scratch_;
};

}  // namespace railweave::fabric
