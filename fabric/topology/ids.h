// Ids of the things in one Topology. Dense from 0, in a canonical order: hosts and racks by natural name order,
// switches by GUID, adapters by host and device, so that the same fabric gets the same ids however it was read.
#pragma once

#include "fabric/base/id.h"

namespace railweave::fabric {

using HostId = Id<struct HostTag>;
using GpuId = Id<struct GpuTag>;
using HcaId = Id<struct HcaTag>;        // a channel adapter (InfiniBand) or NIC (Ethernet)
using SwitchId = Id<struct SwitchTag>;  // InfiniBand or Ethernet; NVLink switches are inside their NvlinkDomain
using PortId = Id<struct PortTag>;      // every port: switch ports, then HCA ports, then GPU ports, then domain ports
using LinkId = Id<struct LinkTag>;
using RackId = Id<struct RackTag>;
using RailId = Id<struct RailTag>;
using SubnetId = Id<struct SubnetTag>;
using NvlinkDomainId = Id<struct NvlinkDomainTag>;
using CliqueId = Id<struct CliqueTag>;
using SiteId = Id<struct SiteTag>;

using Lid = std::uint16_t;  // 0: not assigned; unicast 0x0001-0xBFFF

}  // namespace railweave::fabric
