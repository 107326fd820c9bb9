// What a sweep found, as the subnet's administration tells it: the devices that are present, joined to the routes by their GUIDs.
#pragma once

#include <vector>

#include "fabric/drivers/infiniband/administration/administered_subnet.h"
#include "fabric/drivers/infiniband/subnet_map.h"

namespace railweave::fabric {
class Topology;
}  // namespace railweave::fabric

namespace railweave::fabric::infiniband {

std::vector<AdministeredSubnet::Node> administered_devices(const SubnetMap& map, const Topology& topology);

}  // namespace railweave::fabric::infiniband
