// The job that each Idempotency-Key created, for as long as that job is kept and for kKept_us after the key came. Part
// of ClusterState. Hash shards behind shared pointers: copying the table costs a few pointers, a change copies one
// shard.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "fabric/base/chunked_vector.h"
#include "services/control/state/job.h"

namespace railweave::control {

struct UsedKey {
  JobId job;
  std::int64_t used_us = 0;    // when the job was submitted
  std::string request_digest;  // of the request that came with the key
  bool job_kept = true;        // false: the job has ended and is no longer in the state
};

class IdempotencyTable {
 public:
  static constexpr std::int64_t kKept_us = std::int64_t{24} * 3600 * 1'000'000;
  static constexpr std::size_t kMaxInShard = 512;  // so at most 524,288 keys in all

  IdempotencyTable() : shards_(kShards) {}

  // Null: the key was not used, or is forgotten by now.
  [[nodiscard]] const UsedKey* find(std::string_view key, std::int64_t now_us) const {
    const auto& shard = shards_[shard_of(key)];
    if (shard == nullptr) return nullptr;
    const auto found = shard->find(key);
    return found == shard->end() || is_over(found->second, now_us) ? nullptr : &found->second;
  }
  // Whether a new key can be kept.
  [[nodiscard]] bool has_room(std::string_view key, std::int64_t now_us) const {
    const auto& shard = shards_[shard_of(key)];
    if (shard == nullptr || shard->size() < kMaxInShard) return true;
    return std::ranges::any_of(*shard, [&](const auto& used) { return is_over(used.second, now_us); });
  }
  // Forgets what is over by the time of the new key.
  void put(const std::string& key, UsedKey used) {
    change(key, [&](Shard& shard) {
      std::erase_if(shard, [&](const auto& other) { return is_over(other.second, used.used_us); });
      shard.insert_or_assign(key, std::move(used));
    });
  }
  // The key's job is no longer kept.
  void drop_job(const std::string& key, std::int64_t now_us) {
    change(key, [&](Shard& shard) {
      const auto found = shard.find(key);
      if (found == shard.end()) return;
      found->second.job_kept = false;
      if (is_over(found->second, now_us)) shard.erase(found);
    });
  }

  // Calls visit(key, UsedKey) with the keys whose jobs are not kept; the jobs have the others.
  template <class Visit>
  void visit_without_job(Visit visit) const {
    for (std::size_t s = 0; s < kShards; ++s) {
      if (shards_[s] == nullptr) continue;
      for (const auto& [key, used] : *shards_[s]) {
        if (!used.job_kept) visit(key, used);
      }
    }
  }

 private:
  static constexpr std::size_t kShards = 1024;
  using Shard = std::map<std::string, UsedKey, std::less<>>;

  static bool is_over(const UsedKey& used, std::int64_t now_us) {
    return !used.job_kept && used.used_us + kKept_us <= now_us;
  }
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
