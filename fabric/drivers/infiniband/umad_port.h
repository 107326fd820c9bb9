// A MadPort on the kernel's user MAD interface (libibumad), or on ibsim where umad2sim is preloaded. Subnet management
// (directed and by LID, with traps) and performance management.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "fabric/drivers/infiniband/mad_port.h"

namespace railweave::fabric::infiniband {

struct UmadOptions {
  std::string adapter;  // "mlx5_0"; empty: the first with an active or initialized port
  unsigned port = 0;    // 0: the first
  bool take_traps =
      false;           // traps and other notices are delivered to this port; only one program per port can have them
  bool is_sm = false;  // sets IsSM in the port's capabilities while it is open, as subnet managers do
};

class UmadPort final : public MadPort {
 public:
  // Errors: "ib.noPort", "ib.cannotOpen" (rights, driver not loaded), "ib.cannotRegister" (another program has it).
  static Result<std::unique_ptr<UmadPort>> open(const UmadOptions& options);
  ~UmadPort() override;

  Result<void> send(const MadAddress& to, const Mad& mad, Milliseconds answer_within) override;
  Result<std::optional<ReceivedMad>> receive(Milliseconds wait) override;
  [[nodiscard]] TimePoint now() const override { return Clock::now(); }

 private:
  UmadPort(int handle, std::string name);
  [[nodiscard]] int agent_of(MadClass management_class) const;

  int handle_;
  int sm_handle_ = -1;
  std::string name_;  // "mlx5_0", for messages
  int directed_agent_ = -1, lid_routed_agent_ = -1, performance_agent_ = -1;
  // umad's header and one datagram each.
  std::vector<std::uint64_t> send_buffer_, receive_buffer_;
};

}  // namespace railweave::fabric::infiniband
