// Drains: taking a link, a switch, a node, one GPU of it or a link between sites out of use on purpose. The request is durable and names its target, so it
// outlives the topology; progress is recorded as events.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/base/enum_text.h"
#include "fabric/base/error.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::control {

enum class DrainKind : std::uint8_t { link, network_switch, node, gpu, site_link };
BOOST_DESCRIBE_ENUM(DrainKind, link, network_switch, node, gpu, site_link)
constexpr std::optional<std::string_view> enum_exception(DrainKind kind) {
  return kind == DrainKind::network_switch ? std::optional<std::string_view>("switch") : std::nullopt;
}
constexpr std::string_view to_string(DrainKind kind) { return to_text(kind); }

// Drains of the others wait for jobs to end; of a link between sites, for those that have no other route.
constexpr bool changes_routes(DrainKind kind) { return kind == DrainKind::link || kind == DrainKind::network_switch; }

enum class DrainState : std::uint8_t {
  requested,  // recorded; traffic and jobs are still as before
  rerouting,  // new tables are being written
  // Safe to unplug: the tables read back no longer use the target; no job runs any more on the node, or on the GPU; no job
  // needs the link between sites.
  drained,
};
BOOST_DESCRIBE_ENUM(DrainState, requested, rerouting, drained)
constexpr std::string_view to_string(DrainState state) { return to_text(state); }

struct DrainTarget {
  DrainKind kind = DrainKind::link;
  // Topology::link_text(), the switch's GUID (its name if it has none), the node's name, "node:index" of a GPU, or
  // fabric::site_link_text().
  std::string id;
  friend auto operator<=>(const DrainTarget&, const DrainTarget&) = default;
};
std::string to_string(const DrainTarget& target);  // "link 1/2--3/4"

struct Drain {
  DrainTarget target;
  DrainState state = DrainState::requested;
  std::string reason;
  std::string actor;
  bool forced = false;
  std::int64_t requested_us = 0;
  std::int64_t changed_us = 0;  // when it reached its state
  std::uint64_t version = 0;    // seq of the event that last changed it: its ETag
  std::string follows = {};     // the drained link whose cable leads here while cables are exchanged; "": none
};

using DrainTable = std::map<DrainTarget, Drain>;

// The target under the name that drains are kept by. `text` may name a link by its ends in either order and a switch by
// name or GUID; where no cable is called so, `link` finds a link between sites. Errors: "links.notFound", "links.notDrainable", "switches.notFound", "nodes.notFound".
Result<DrainTarget> resolve(const fabric::Topology& topology, DrainKind kind, const std::string& text);

std::string gpu_text(const fabric::Topology& topology, fabric::GpuId gpu);  // "node:index"
// None: the topology has no such GPU.
fabric::GpuId find_gpu(const fabric::Topology& topology, std::string_view text);
// The node of a drain of a node or a GPU.
std::string_view node_of(const DrainTarget& target);

// Marks the target as drained in the view, or removes the mark. False: the topology does not have the target, or it is a
// GPU, which no view has.
bool mark_drained(fabric::FabricView& view, const DrainTarget& target, bool drained);

}  // namespace railweave::control
