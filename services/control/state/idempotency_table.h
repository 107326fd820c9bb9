// The job that each Idempotency-Key created, for as long as that job is kept and for kKept_us after the key came. A key is
// its owner's own, and no tenant's keys take room from another's. Part of ClusterState. Hash shards behind shared
// pointers: copying the table costs a few pointers, a change copies one tenant's part of a shard.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "fabric/base/chunked_vector.h"
#include "fabric/base/fnv1a.h"
#include "services/control/state/job.h"

namespace railweave::control {

struct UsedKey {
  JobId job;
  std::int64_t used_us = 0;    // when the job was submitted
  std::string request_digest;  // of the request that came with the key
  bool job_kept = true;        // false: the job has ended and is no longer in the state
};

// owner: "<tenant>/<caller>" (key_owner.h); "/<caller>" of callers of no tenant; "": it has no owner, as before keys had
// owners, and without authentication.
struct OwnedKey {
  std::string owner, key;

  auto operator<=>(const OwnedKey&) const = default;
  [[nodiscard]] std::string_view tenant() const { return std::string_view(owner).substr(0, owner.find('/')); }
};

class IdempotencyTable {
 public:
  static constexpr std::int64_t kKept_us = std::int64_t{24} * 3600 * 1'000'000;
  static constexpr std::size_t kShards = 1024;
  // Of one tenant, so at most 131,072 keys each; and of all callers without a tenant together.
  static constexpr std::size_t kMaxOfTenant = 128, kMaxOfNoTenant = 512;

  IdempotencyTable() : shards_(kShards) {}

  static std::size_t shard_of(std::string_view key) { return Fnv1a().add(key).value() % kShards; }

  // Null: the key was not used, or is forgotten by now.
  [[nodiscard]] const UsedKey* find(const OwnedKey& key, std::int64_t now_us) const {
    const Share* share = share_of(key);
    if (share == nullptr) return nullptr;
    const auto found = share->find(key);
    return found == share->end() || is_over(found->second, now_us) ? nullptr : &found->second;
  }
  // Whether a new key can be kept.
  [[nodiscard]] bool has_room(const OwnedKey& key, std::int64_t now_us) const {
    const Share* share = share_of(key);
    if (share == nullptr || share->size() < (key.tenant().empty() ? kMaxOfNoTenant : kMaxOfTenant)) return true;
    return std::ranges::any_of(*share, [&](const auto& used) { return is_over(used.second, now_us); });
  }
  // Forgets what of the tenant's is over by the time of the new key.
  void put(const OwnedKey& key, UsedKey used) {
    change(key, [&](Share& share) {
      std::erase_if(share, [&](const auto& other) { return is_over(other.second, used.used_us); });
      share.insert_or_assign(key, std::move(used));
    });
  }
  // The key's job is no longer kept.
  void drop_job(const OwnedKey& key, std::int64_t now_us) {
    change(key, [&](Share& share) {
      const auto found = share.find(key);
      if (found == share.end()) return;
      found->second.job_kept = false;
      if (is_over(found->second, now_us)) share.erase(found);
    });
  }

  // Calls visit(OwnedKey, UsedKey) with the keys whose jobs are not kept; the jobs have the others.
  template <class Visit>
  void visit_without_job(Visit visit) const {
    for (std::size_t s = 0; s < kShards; ++s) {
      if (shards_[s] == nullptr) continue;
      for (const auto& [tenant, share] : *shards_[s]) {
        for (const auto& [key, used] : *share) {
          if (!used.job_kept) visit(key, used);
        }
      }
    }
  }

 private:
  using Share = std::map<OwnedKey, UsedKey>;
  using Shard = std::map<std::string, std::shared_ptr<const Share>, std::less<>>;  // by tenant

  static bool is_over(const UsedKey& used, std::int64_t now_us) {
    return !used.job_kept && used.used_us + kKept_us <= now_us;
  }
  [[nodiscard]] const Share* share_of(const OwnedKey& key) const {
    const auto& shard = shards_[shard_of(key.key)];
    if (shard == nullptr) return nullptr;
    const auto found = shard->find(key.tenant());
    return found == shard->end() ? nullptr : found->second.get();
  }
  template <class Change>
  void change(const OwnedKey& key, Change apply_change) {
    auto& slot = shards_.write(shard_of(key.key));
    auto changed = slot ? std::make_shared<Shard>(*slot) : std::make_shared<Shard>();
    auto& of_tenant = (*changed)[std::string(key.tenant())];
    auto share = of_tenant ? std::make_shared<Share>(*of_tenant) : std::make_shared<Share>();
    apply_change(*share);
    of_tenant = std::move(share);
    slot = std::move(changed);
  }

  ChunkedVector<std::shared_ptr<const Shard>, 64> shards_;
};

}  // namespace railweave::control
