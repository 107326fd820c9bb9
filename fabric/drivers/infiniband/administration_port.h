// The local port as clients of the subnet's administration reach it: general datagrams of its class, with the queue pair that
// each came from. A handle of its own beside the one of subnet management, so that both are read by threads of their own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/drivers/infiniband/administration/rmpp_sender.h"
#include "fabric/drivers/infiniband/mad_port.h"
#include "fabric/drivers/infiniband/umad_port.h"

namespace railweave::fabric::infiniband {

class AdministrationPort {
 public:
  struct Received {
    SaClient client;
    Mad mad{};
  };

  AdministrationPort() = default;
  AdministrationPort(const AdministrationPort&) = delete;
  AdministrationPort& operator=(const AdministrationPort&) = delete;
  virtual ~AdministrationPort() = default;

  // answer_within: 0: no answer is awaited, and one that comes may be lost.
  virtual Result<void> send(const SaClient& to, const Mad& mad, Milliseconds answer_within) = 0;
  // The next datagram; waits for it at most this long.
  virtual Result<std::optional<Received>> receive(Milliseconds wait) = 0;
};

// On libibumad, which is told that messages of several datagrams are handled here.
class UmadAdministrationPort final : public AdministrationPort {
 public:
  // Errors: as UmadPort::open().
  static Result<std::unique_ptr<AdministrationPort>> open(const UmadOptions& options);
  ~UmadAdministrationPort() override;

  Result<void> send(const SaClient& to, const Mad& mad, Milliseconds answer_within) override;
  Result<std::optional<Received>> receive(Milliseconds wait) override;

 private:
  UmadAdministrationPort(int handle, std::string name);

  int handle_;
  int agent_ = -1;
  std::string name_;
  std::vector<std::uint64_t> send_buffer_, receive_buffer_;  // umad's header and one datagram each
};

}  // namespace railweave::fabric::infiniband
