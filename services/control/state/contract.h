// A tenant's contract: what it is promised on the network, and the partition key that it keeps while the contract
// lasts.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "scheduler/admission/contract.h"

namespace railweave::control {

struct TenantContract {
  scheduler::Contract terms;
  std::uint16_t pkey = 0;     // 1 to kMaxPkey
  std::uint64_t version = 0;  // seq of the event that last changed it: its ETag

  static constexpr std::uint16_t kMaxPkey = 0x7ffe;  // 0x7fff is the default partition
};

using ContractTable = std::map<std::string, TenantContract, std::less<>>;

// The lowest partition key that no contract uses; 0: none is free.
inline std::uint16_t free_pkey(const ContractTable& contracts) {
  std::map<std::uint16_t, bool> taken;
  for (const auto& [tenant, contract] : contracts) taken[contract.pkey] = true;
  for (std::uint16_t key = 1; key <= TenantContract::kMaxPkey; ++key) {
    if (!taken.contains(key)) return key;
  }
  return 0;
}

}  // namespace railweave::control
