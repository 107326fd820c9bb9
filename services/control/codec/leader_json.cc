#include "services/control/codec/leader_json.h"

#include <tuple>

#include "services/control/codec/event_body.h"
#include "services/control/state/cluster_state.h"
#include "services/json/record.h"

namespace railweave::api {
namespace {

using control::Leader;
using control::LeaderBegan;

constexpr std::tuple kBeganFields{required_field("name", &LeaderBegan::name), field("url", &LeaderBegan::url)};
constexpr std::tuple kLeaderFields{required_field("name", &Leader::name), field("url", &Leader::url),
                                   field("term", &Leader::term), field("sinceUs", &Leader::since_us)};

}  // namespace

Out to_json(const LeaderBegan& event) { return fields_json(event, kBeganFields); }

Result<control::EventBody> leader_began_from_json(const Json& data) { return body_of<LeaderBegan>(data, kBeganFields); }

Out leader_to_json(const Leader& leader) { return fields_json(leader, kLeaderFields); }

Result<void> read_leader(const Json& value, control::ClusterState& state) {
  auto leader = record_from_json<Leader>(value, "/leader", kLeaderFields);
  if (!leader) return std::unexpected(leader.error());
  state.leader = std::move(*leader);
  return {};
}

}  // namespace railweave::api
