// Taking a link, a switch or a node out of use on purpose. The wish is durable and names what it is about, so that it
// outlives the topology; how far it has come is recorded as it advances.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::control {

enum class DrainKind : std::uint8_t { link, network_switch, node };

enum class DrainState : std::uint8_t {
  requested,  // durable; traffic or jobs are as before
  rerouting,  // new tables are being written
  drained,    // safe to unplug: the tables read back no longer use it; on a node, no job is left
};

std::string_view to_string(DrainKind kind);  // "link", "switch", "node"
std::optional<DrainKind> parse_drain_kind(std::string_view text);
std::string_view to_string(DrainState state);
std::optional<DrainState> parse_drain_state(std::string_view text);

struct DrainTarget {
  DrainKind kind = DrainKind::link;
  std::string id;  // as the topology writes it: Topology::link_text(), the switch's GUID or name, the node's name
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
  std::int64_t changed_us = 0;  // when it came to its state
  std::uint64_t version = 0;    // seq of the event that last changed it: its ETag
};

using DrainTable = std::map<DrainTarget, Drain>;

// The target under the name that drains are kept by: a link either way round, a switch by name or GUID. Errors:
// "links.notFound", "switches.notFound", "nodes.notFound".
Result<DrainTarget> resolve(const fabric::Topology& topology, DrainKind kind, const std::string& text);

// Marks it in the view, or takes the mark away. False: the topology has no such thing.
bool mark_drained(fabric::FabricView& view, const DrainTarget& target, bool drained);

}  // namespace railweave::control
