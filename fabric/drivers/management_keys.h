// Management keys of devices (M_Key, IBA 14.2.4): a port that has one takes changes only from who shows it. Without keys any
// host's datagram can change what another one wrote.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "fabric/base/guid.h"
#include "fabric/drivers/port_reports.h"

namespace railweave::fabric {

// Derives a device's key from a secret, never 0. Generations count from 1; a new one is another key for every device.
using ManagementKeyOf = std::function<std::uint64_t(Guid device, std::uint64_t generation)>;

struct ManagementKeyOptions {
  std::vector<ManagementKeyOf> secrets{};  // the first is in use, the others were; none: ports get no keys
  // How long a port that is asked with wrong keys only still hides its key, in seconds; 0: for ever. A manager that lost its
  // secret regains its devices after that; so would a stranger, if no manager asks them meanwhile.
  std::uint16_t lease_s = 0;

  [[nodiscard]] bool are_on() const { return !secrets.empty(); }
  // What a device may hold, most likely first, each once: the key of this generation, those of the secrets before, of earlier
  // generations, and of later ones, as of a store that was restored from a backup.
  [[nodiscard]] std::vector<std::uint64_t> candidates(Guid device, std::uint64_t generation) const {
    static constexpr std::uint64_t kNear = 8;
    std::vector<std::uint64_t> keys;
    const auto add = [&](std::uint64_t other) {
      for (const auto& key_of : secrets) {
        const std::uint64_t key = key_of(device, other);
        if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
      }
    };
    add(generation);
    for (std::uint64_t back = 1; back <= kNear && back < generation; ++back) add(generation - back);
    for (std::uint64_t ahead = 1; ahead <= kNear; ++ahead) add(generation + ahead);
    return keys;
  }
};

// One round over all ports that can hold a key: a switch's management port, and each cabled port of an adapter.
struct ManagementKeysReport {
  std::uint64_t ports = 0;
  std::uint64_t held = 0;         // have the wanted key, which no host can read without it: read back in this round
  std::uint64_t changed = 0;      // of them those that had none or another one before
  std::vector<PortRef> locked;    // have a key that is not known here: nothing can be changed there
  std::vector<PortRef> replaced;  // had a key that is not from here, which could be read; counted in `changed` as well
  std::vector<PortRef> without;   // took none: the device does not keep keys
  std::vector<PortRef> silent;
};

}  // namespace railweave::fabric
