// What is known of one live subnet and how far it is from the wanted state: published whole by its controller, read by
// any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/enum_text.h"
#include "fabric/base/guid.h"
#include "fabric/health/held_links.h"
#include "fabric/routing/audit/old_levels.h"
#include "fabric/routing/plane/routing_engine.h"
#include "services/control/live/status/engine_comparison.h"
#include "services/control/live/status/found_change.h"
#include "services/control/state/subnet_mode.h"

namespace railweave::control {

enum class SubnetPhase : std::uint8_t {
  offline,      // no connection, or not tried yet; `problem` says why
  discovering,  // being read
  unaccepted,   // read, but the accepted topology has no such subnet
  watching,     // observe mode: links and counters are followed, nothing is written
  programming,  // tables are being written, or differ and will be
  synced,       // all switches that are there were seen, recently, and hold what is wanted
  partial,  // some were not seen, or not recently, what they hold is not what is wanted, or links that are up are held
            // out of use: `problem` says which
  blind,    // the subnet cannot be seen through the local port; switches keep what they had
};
BOOST_DESCRIBE_ENUM(SubnetPhase, offline, discovering, unaccepted, watching, programming, synced, partial, blind)
constexpr std::string_view to_string(SubnetPhase phase) { return to_text(phase); }

// A difference between what was found and the accepted topology.
struct FabricDifference {
  enum class Kind : std::uint8_t {
    missing_device,  // accepted, not found
    unknown_device,  // found, not accepted
    missing_link,    // accepted, not found or not active
    other_link,      // found between ports that the accepted topology joins otherwise, or not at all; not used
    exchanged_link,  // the same, of cables that were exchanged with each other; used as they are
    other_rate,      // slower or faster than accepted
    other_lid,       // the device has another LID than the accepted topology says
  };
  BOOST_DESCRIBE_NESTED_ENUM(Kind, missing_device, unknown_device, missing_link, other_link, exchanged_link, other_rate,
                             other_lid)
  Kind kind = Kind::missing_device;
  std::string subject;  // link or device, as the topology writes it
  std::string text;
};
constexpr std::string_view to_string(FabricDifference::Kind kind) { return to_text(kind); }

struct IsolatedDevice {
  Guid guid;
  std::string name;
  std::string reason;  // "does not answer"
  std::int64_t since_us = 0;
};

// One programming, from the first report of what caused it.
struct Repair {
  std::string cause;
  std::int64_t at_us = 0;          // unix
  std::int64_t noticed_us = 0;     // durations from the report: until the repair began,
  std::int64_t swept_us = 0;       // until the fabric was read,
  std::int64_t computed_us = 0;    // until the new tables were computed and checked,
  std::int64_t programmed_us = 0;  // until the last block was written and read back
  std::uint64_t changed_entries = 0, blocks = 0, mads = 0, isolated = 0;
  // After it: pairs of end ports that want a route and have none. None before the whole audit of these tables.
  std::optional<std::uint64_t> unreachable_pairs;
};

// A job with a lane of its own in the tables of ports.
struct LaneInTables {
  std::string job;
  std::uint8_t lane = 0;
  std::uint64_t order = 0;     // of its reservation
  std::string other_sender{};  // a job that may send with the lane's service level although it is not its own; "" none
  friend bool operator==(const LaneInTables&, const LaneInTables&) = default;
};

// Classes of traffic and partitions on its ports.
struct QosStatus {
  std::uint64_t classes = 0;  // 0: there is no plan
  std::uint64_t partitions = 0;
  std::uint64_t ports_programmed = 0, ports_pending = 0;
  std::uint64_t ports_changed = 0;    // of those pending: another program has changed their tables
  std::int64_t files_written_us = 0;  // unix; 0: no files of OpenSM's were written
  std::vector<LaneInTables> lanes;    // that tables are planned with; written where no port is pending
  bool by_opensm = false;     // OpenSM writes the ports, as its plugin tells it; they are read as if written here
  std::string not_by_opensm;  // in opensm mode: why its plugin does not tell it
  bool is_filtered = false;   // switches drop service levels that no job at the host has; written as the lanes
  std::string problem;        // for people; "" none
  friend bool operator==(const QosStatus&, const QosStatus&) = default;
};

// Lanes of routes in direct mode.
struct LanesStatus {
  unsigned used = 1;
  unsigned needed = 1;    // by the engine's own routes; more than are used: routes go up and then down on one lane,
  std::string problem{};  // and this is why
  // What senders meet that keep levels from before the last repair; none: one lane, or no repair since the service started.
  std::optional<fabric::OldLevels> old_levels{};
  std::int64_t old_levels_audited_us = 0;  // unix
  friend bool operator==(const LanesStatus&, const LanesStatus&) = default;
};

// The last walk over tables, ports and LIDs as the switches themselves gave them.
struct Walk {
  std::int64_t at_us = 0;                   // unix; 0: none yet
  std::int64_t seen_since_us = 0;           // unix: the oldest sight that it rests on
  std::uint64_t pairs = 0, lost_pairs = 0;  // of end ports; lost although cables connect them
};

// When switches were last asked for their tables. Unix; 0: never.
struct TablesSeen {
  std::int64_t read_back_us = 0;                                    // all of them at once
  std::int64_t oldest_us = 0, newest_us = 0;                        // of the switches that are there
  std::shared_ptr<const std::vector<std::int64_t>> by_switch = {};  // by SwitchId of the accepted topology; null: none
};

// A link that flaps, by its id in the accepted topology. Times are unix.
struct FlappingCable {
  fabric::LinkId link;
  std::int64_t since_us = 0, until_us = 0;  // until: if it does not flap before
  std::uint64_t flaps = 0;
  bool is_held = false;  // out of use, although it is up
  bool is_up = false;
  // Why it is used all the same; none: it is held, it is down, or another subnet manager routes here.
  std::optional<fabric::health::WhyUsed> why_used = std::nullopt;
};

// When links were last seen that are not seen now, unix; 0: never since the service started.
using UnseenLinks = std::map<fabric::LinkId, std::int64_t>;

struct LinkCounts {
  std::uint64_t up = 0, down = 0;
  std::uint64_t damped = 0;   // up, and held out of use
  std::uint64_t unknown = 0;  // neither end answers
};

// What is known of single links beyond their states. Of the accepted topology `topology`.
struct LinkSights {
  fabric::TopologyPtr topology;
  std::vector<FlappingCable> flapping;  // the longest first
  UnseenLinks unseen;
  std::uint64_t pairs_lost_by_held = 0;  // pairs of end ports
};

// Management keys of ports as last read back, in direct mode with a secret (fabric/drivers/management_keys.h).
struct KeysStatus {
  std::uint64_t generation = 0;
  std::uint64_t ports = 0;                            // that can hold one; each is one of:
  std::uint64_t held = 0;                             // have the key of this generation
  std::uint64_t locked = 0, without = 0, silent = 0;  // have one that is not known; keep none; do not answer
  std::int64_t seen_us = 0;                           // unix
};

// Requests for an attribute, by how they ended.
struct AskedOfAdministration {
  std::string_view attribute;  // "PathRecord"
  std::uint64_t answered = 0, refused = 0, unsupported = 0;
};

// What clients asked the subnet's administration since the connection was opened (fabric/drivers/administration.h).
struct AdministrationStatus {
  std::uint64_t devices = 0, end_ports = 0;               // that are told of
  std::uint64_t requests = 0;                             // each is one of:
  std::uint64_t answered = 0, refused = 0, dropped = 0;   // refused: with a status that is not 0
  std::uint64_t wrong_keys = 0;                           // of those dropped
  std::uint64_t records = 0, segments = 0, given_up = 0;  // in answers; datagrams of tables; tables that were not taken
  std::uint64_t subscriptions = 0;                        // to notices, now
  std::uint64_t reports = 0, reports_confirmed = 0,
                reports_given_up = 0;        // of notices; given up: also as there was no room
  std::vector<AskedOfAdministration> asked;  // what was asked for at least once
};

struct Discovery {
  std::vector<IsolatedDevice> counters_unread;  // devices that are there, and whose counters cannot be read
  std::int64_t at_us = 0;                       // unix: the last full or light sweep; 0: never
  std::int64_t took_us = 0;                     // the last full one, and the datagrams it sent
  std::uint64_t mads = 0;
  Walk walk;
  std::optional<KeysStatus> keys;  // none: ports are given none
  FoundChangesPtr changes;  // of the differences, what could be accepted as one change each; null: none was looked for
};

struct SubnetStatus {
  std::string subnet;
  SubnetMode mode = SubnetMode::observe;
  SubnetPhase phase = SubnetPhase::offline;
  std::string problem;  // why it is not synced, for people; "": none

  // What was found.
  std::string port;  // of this machine, through which the subnet is reached: "mlx5_0/1"
  std::uint64_t switches = 0, adapters = 0;
  LinkCounts links;
  Discovery discovery;
  std::vector<FabricDifference> differences;  // the first kMaxDifferences
  std::uint64_t difference_count = 0;
  fabric::TopologyPtr discovered;            // null: not yet
  std::shared_ptr<const LinkSights> sights;  // null: not yet

  // Nothing is known of it now: links, tables and what is said of them are those of discovery.at_us, or of no time.
  [[nodiscard]] bool is_unseen() const { return phase == SubnetPhase::offline || phase == SubnetPhase::blind; }
  // As they may be shown: of links that are not seen now nothing but their number is said.
  [[nodiscard]] LinkCounts links_now() const {
    return is_unseen() ? LinkCounts{.unknown = links.up + links.down + links.damped + links.unknown} : links;
  }

  // What switches hold.
  std::uint64_t blocks_wanted = 0, blocks_differing = 0;  // 64-entry blocks of tables; as last read or written
  std::optional<std::uint64_t> wanted_digest;
  std::optional<std::uint64_t> applied_digest;  // equal to the wanted one when synced
  std::shared_ptr<const fabric::Routing> wanted, applied;
  TablesSeen tables_seen;
  std::vector<IsolatedDevice> isolated;
  std::vector<Repair> repairs;  // newest last, at most kMaxRepairs
  std::uint64_t repairs_total = 0;
  std::optional<QosStatus> qos;                        // none: there are no classes or contracts
  std::optional<AdministrationStatus> administration;  // none: clients are answered by another process, or by none
  std::optional<LanesStatus> lanes;                    // none: another subnet manager routes, or there are no routes
  EngineComparisonPtr engines;                         // null: not compared since links or drains changed last

  static constexpr std::size_t kMaxDifferences = 1000;
  static constexpr std::size_t kMaxRepairs = 32;
};
using SubnetStatusPtr = std::shared_ptr<const SubnetStatus>;

}  // namespace railweave::control
