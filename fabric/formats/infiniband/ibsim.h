// Netlists of ibsim, the InfiniBand simulator (read as ibsim 0.10's sim_net.c reads them), and a writer of such
// netlists.
//
//   Switch 36 "spine-1"                 # "spine-1" enhanced port 0 lid 3 lmc 0
//   [1]  "leaf-1"[33]                   # "leaf-1" lid 4 4xHDR
//   Hca  1 "node-1"                     # "node-1 mlx5_0"
//   [1]  "leaf-1"[1] w=2 s=4
//
// An id is any text in quotes; it stands for the description where there is none. GUIDs are given as ibsim gives them,
// so that a simulated fabric, discovered later, matches: adapters from 0x100000 (each takes its ports + 1 GUIDs, port n
// has the node's GUID + n), switches from 0x200000, routers from 0; `caguid=` (or `hcaguids=`), `switchguid=` and
// `rtguid=` set the next one, and with + in place of = relative to the last base set. A port GUID in parentheses, which
// ibsim ignores, is taken. `module = "m"` prefixes ids with "m#"; `width=`, `speed=`, `speedext=` are the masks that
// the following ports start with; `w=`, `s=`, `e=` those of one port. Hosts and names are made as in ibnetdiscover.h.
// Unlike in ibsim, a record also ends where the next device starts, and links may be one-sided or lead nowhere
// (findings). Findings as in ibnetdiscover.h, and unknownPeer, unsupportedLine (`do`, aliases). `include` is refused: a
// file read by a service must not name others.
#pragma once

#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "fabric/formats/text/read_options.h"
#include "fabric/topology/topology.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

Result<void> read_ibsim(std::string_view text, const ReadOptions& options, TopologyBuilder& builder);

// The InfiniBand part of the fabric: switches, adapters, cables with width and speed, LIDs, GUIDs, descriptions.
// Reading it back gives the same fabric, without racks, GPUs and labels, which are not in this format; host kinds are
// guessed from the names again. Ids are "S-<guid>", "H-<guid>", "R-<guid>"; an adapter of unknown or repeated GUID gets
// an id of its own ("H-<guid>-2"), though ibsim refuses such a netlist. ibsim gives adapter ports GUIDs of its own
// (node + n).
std::string write_ibsim(const Topology& topology);

}  // namespace railweave::fabric
