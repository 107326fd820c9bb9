// The job that each Idempotency-Key created, for as long as that job is kept. Part of ClusterState. Hash shards behind
// shared pointers: copying the table costs a few pointers, a change copies one shard.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/base/chunked_vector.h"
#include "services/control/state/job.h"

namespace railweave::control {

class IdempotencyTable {
 public:
  IdempotencyTable() : shards_(kShards) {}

  [[nodiscard]] std::optional<JobId> find(std::string_view key) const {
    const auto& shard = shards_[shard_of(key)];
    if (shard == nullptr) return std::nullopt;
    const auto found = shard->find(key);
    return found == shard->end() ? std::nullopt : std::optional(found->second);
  }
  void put(const std::string& key, JobId job) {
    change(key, [&](Shard& shard) { shard.insert_or_assign(key, job); });
  }
  void erase(const std::string& key) {
    change(key, [&](Shard& shard) { shard.erase(key); });
  }

 private:
  static constexpr std::size_t kShards = 1024;
  using Shard = std::map<std::string, JobId, std::less<>>;

  static std::size_t shard_of(std::string_view key) { return std::hash<std::string_view>{}(key) % kShards; }
  template <class Change>
  void change(const std::string& key, Change apply_change) {
    auto& slot = shards_.write(shard_of(key));
    auto changed = slot ? std::make_shared<Shard>(*slot) : std::make_shared<Shard>();
    apply_change(*changed);
    slot = std::move(changed);
  }

  ChunkedVector<std::shared_ptr<const Shard>, 64> shards_;
};

}  // namespace railweave::control
