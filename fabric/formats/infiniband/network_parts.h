// The networks that one dump describes: parts that no cable joins. Those whose switches are all called after storage are a
// subnet of their own beside the others, as no subnet of InfiniBand has parts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace railweave::fabric {

struct NamedSwitch {
  std::uint32_t device = 0;
  std::string name;
};

// By device: 0, or the number of the storage network that it is in, from 1. cables: pairs of devices. All 0 where every network,
// or none, is called after storage.
std::vector<std::uint32_t> storage_networks(std::size_t devices, std::span<const NamedSwitch> switches,
                                            std::span<const std::pair<std::uint32_t, std::uint32_t>> cables);

}  // namespace railweave::fabric
