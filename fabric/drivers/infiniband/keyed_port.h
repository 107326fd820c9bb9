// A port whose datagrams show the management key of the device that they go to: here, so that no sender can forget it.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "fabric/drivers/infiniband/key_book.h"
#include "fabric/drivers/infiniband/mad_port.h"
#include "fabric/drivers/infiniband/subnet_map.h"

namespace railweave::fabric::infiniband {

class KeyedPort final : public MadPort {
 public:
  // map, book: outlive the port. Directed routes are followed through the map.
  KeyedPort(std::unique_ptr<MadPort> port, const SubnetMap& map, const KeyBook& book)
      : port_(std::move(port)), map_(map), book_(book) {}

  Result<void> send(const MadAddress& to, const Mad& mad, Milliseconds answer_within) override;
  Result<std::optional<ReceivedMad>> receive(Milliseconds wait) override { return port_->receive(wait); }
  [[nodiscard]] TimePoint now() const override { return port_->now(); }

 private:
  const std::unique_ptr<MadPort> port_;
  const SubnetMap& map_;
  const KeyBook& book_;
};

// The port whose key is checked when a datagram takes this route; none: what is there is not known.
std::optional<PortRef> key_port_at(const SubnetMap& map, const DirectedRoute& route);
// The same of the device that has this LID.
std::optional<PortRef> key_port_of(const SubnetMap& map, Lid lid);

}  // namespace railweave::fabric::infiniband
