// What each tenant has used, with exponential decay: GPU seconds that halve every half-life. A small value.
//
// Closed form: while g GPUs are held, usage(t) = usage(t0) 2^(-(t - t0) / h) + g h / ln 2 (1 - 2^(-(t - t0) / h)), so
// the result does not depend on how often it is charged.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace railweave::scheduler {

class FairShare {
 public:
  explicit FairShare(std::int64_t half_life_us = 7LL * 24 * 3600 * 1'000'000) : half_life_us_(half_life_us) {}

  // `gpus` were held from one time to another. In any order of tenants and times.
  void charge(std::string_view tenant, std::uint64_t gpus, std::int64_t from_us, std::int64_t to_us);
  // GPU seconds as they count at that time.
  [[nodiscard]] double usage_gpu_s(std::string_view tenant, std::int64_t at_us) const;
  // The same as the GPUs that, held forever, would give it.
  [[nodiscard]] double average_gpus(std::string_view tenant, std::int64_t at_us) const;
  [[nodiscard]] std::int64_t half_life_us() const { return half_life_us_; }

  // Of a tenant that was removed: the next one of that name owes nothing.
  void forget(const std::string& tenant) { tenants_.erase(tenant); }

  // The stored form.
  struct Usage {
    double gpu_s = 0;
    std::int64_t as_of_us = 0;
  };
  [[nodiscard]] const std::map<std::string, Usage, std::less<>>& tenants() const { return tenants_; }
  void restore(std::string tenant, Usage usage) { tenants_.insert_or_assign(std::move(tenant), usage); }

 private:
  [[nodiscard]] double decay(std::int64_t us) const;

  std::int64_t half_life_us_;
  std::map<std::string, Usage, std::less<>> tenants_;
};

}  // namespace railweave::scheduler
