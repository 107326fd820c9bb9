// Management keys of one subnet's ports, in direct mode with a secret: given, rotated as the state says, looked at again and
// again. Without them any host's datagram can change what was programmed. Used by the stepping thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/control/live/links/subnet_context.h"

namespace railweave::control {

class SubnetKeys {
 public:
  explicit SubnetKeys(const SubnetContext& context) : context_(context) {}

  // Devices may have lost their keys, or are others: looked at at once.
  void distrust() { is_due_ = true; }
  // Where it is due. Before anything else is written: a port that holds another key takes nothing. Error: the connection
  // failed.
  Result<void> keep(const ClusterState& state);
  // Before the mode is left: another subnet manager must be able to write.
  void give_back();
  // Datagrams with wrong keys were reported.
  void note(const std::vector<fabric::Observation>& wrong_keys);

 private:
  void show(const fabric::ManagementKeysReport& report);
  [[nodiscard]] std::string name(Guid device) const;
  [[nodiscard]] std::string names(const std::vector<fabric::PortRef>& ports) const;

  const SubnetContext& context_;
  bool is_due_ = true;
  std::uint64_t generation_ = 0;  // that was written last
  std::int64_t looked_us_ = 0;
  std::uint64_t wrong_ = 0;  // datagrams with wrong keys since the last was long ago
  std::int64_t wrong_us_ = 0, replaced_us_ = 0;
};

}  // namespace railweave::control
