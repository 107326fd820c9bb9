// Who asks the subnet's administration, and what of the subnet that one may see.
#pragma once

#include "fabric/drivers/infiniband/administration/administered_subnet.h"
#include "fabric/drivers/infiniband/administration/sa_client.h"

namespace railweave::fabric::infiniband {

struct Requester {
  const AdministeredSubnet& subnet;
  const AdministeredSubnet::EndPort* port = nullptr;  // null: not known here
  bool is_trusted = false;
  SaClient client;

  [[nodiscard]] bool sees(const AdministeredSubnet::EndPort& other) const {
    return is_trusted || (port != nullptr && (port == &other || subnet.shared_key(*port, other) != 0));
  }
  [[nodiscard]] bool owns(const AdministeredSubnet::EndPort& other) const { return is_trusted || port == &other; }
  // The partition is one of its own, whether as a full member or a limited one.
  [[nodiscard]] bool has_key(std::uint16_t key) const {
    return is_trusted || (port != nullptr && subnet.has_key(*port, key));
  }
};

}  // namespace railweave::fabric::infiniband
