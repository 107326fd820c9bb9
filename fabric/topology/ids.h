// Ids of the devices and groups in one Topology. Dense from 0, in a canonical order: hosts and racks by name in natural
// order, switches by GUID, adapters by host and device, so that a fabric gets the same ids whatever it was read from.
#pragma once

#include "fabric/base/id.h"

namespace railweave::fabric {

using HostId = Id<struct HostTag>;
using GpuId = Id<struct GpuTag>;
using HcaId = Id<struct HcaTag>;        // a channel adapter (InfiniBand) or NIC (Ethernet)
using SwitchId = Id<struct SwitchTag>;  // InfiniBand or Ethernet; NVLink switches are part of their NVLink domain
using PortId = Id<struct PortTag>;      // every port: switch ports, then HCA ports, then GPU ports, then domain ports
using LinkId = Id<struct LinkTag>;
using RackId = Id<struct RackTag>;
using RailId = Id<struct RailTag>;
using SubnetId = Id<struct SubnetTag>;
using NvlinkDomainId = Id<struct NvlinkDomainTag>;
using CliqueId = Id<struct CliqueTag>;
using SiteId = Id<struct SiteTag>;
using SiteLinkId = Id<struct SiteLinkTag>;  // index of Topology::site_links()

using Lid = std::uint16_t;                           // 0: not assigned
inline constexpr std::size_t kUnicastLids = 0xBFFF;  // 0x0001 to 0xBFFF (InfiniBand Architecture Specification, 4.1.1)

}  // namespace railweave::fabric
