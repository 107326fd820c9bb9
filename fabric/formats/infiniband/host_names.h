// What the node description of an InfiniBand adapter says about the machine it is in. rdma-ndd and the drivers set it
// to "host device" ("node-7 mlx5_0", "node-7 HCA-1"); unset, it is the vendor's text or that of an installer's image.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fabric/topology/topology.h"

namespace railweave::fabric {

struct AdapterIdentity {
  enum class Kind : std::uint8_t {
    named,        // host and perhaps device
    generic,      // names no machine: the vendor's text, "localhost HCA-1", "ubuntu mlx5_0", nothing
    aggregation,  // a SHARP aggregation node inside a switch
  };
  Kind kind = Kind::generic;
  std::string_view host;  // of a named one
  std::string_view
      device;  // as written: "mlx5_5", or "HCA-6", which counts from 1; may be empty. Of generic ones as well
};

// Generic: nothing; the names that machines have before they are given one (localhost, ubuntu, debian, centos, rocky,
// rhel, linux, fedora, unknown, none, "(none)", node, host, server, with or without a domain); descriptions that start
// with a vendor's or product's name (MT4129, Mellanox, NVIDIA, ConnectX, BlueField, InfiniHost, Infiniscale, Voltaire,
// QLogic, Intel, Omni-Path, Chelsio) or contain "Mellanox Technologies"; more than two words of which the second is no
// device name. Views point into the description.
AdapterIdentity identify_adapter(std::string_view description);

// What a switch is called: "MF0;leaf-1:MQM9700/U1" -> "leaf-1", "MF0;core:CS8500/L03/U1" -> "core/L03/U1", a text
// without such a frame as it is. Empty for vendors' texts, which name no switch ("Infiniscale-IV Mellanox
// Technologies", "Voltaire 4036 - 36 QDR ports switch").
std::string switch_name(std::string_view description);

// A guess from the words in the name, which are its runs of letters, in any case:
//   compute     worker, compute
//   management  ufm, cufm, mgmt, management, mgt, login, head, headnode, admin, controller, slurm, bastion, gateway,
//               opensm, monitor, master
//   storage     storage, stor, lustre, oss, mds, mgs, ost, mdt, nfs, cache, gpfs, nsd, weka, vast, ceph, nas, beegfs,
//               swift, object, quobyte, flasharray, and names with ai200, ai400, ai7990 (DDN's appliances)
// The first list that has a word of the name decides; words of five letters and more also count within a longer word
// ("storagenode"). Everything else is compute.
HostKind guess_host_kind(std::string_view host);

}  // namespace railweave::fabric
