#include "services/control/live/cabling/cabling_follower.h"

#include <chrono>
#include <utility>

#include "fabric/formats/native/native_json.h"
#include "services/json/digest.h"

namespace railweave::control {
namespace {

constexpr std::int64_t kUsPerMs = 1000;
constexpr std::size_t kMostExchangeAlarms = 64;  // further ones share one

Result<fabric::TopologyPtr> recabled(const fabric::Topology& topology, const std::vector<fabric::Recabling>& cables) {
  const fabric::ReadOptions options{.source = "topology as cabled"};
  fabric::TopologyBuilder builder;
  if (auto read = fabric::read_native_json(fabric::write_recabled_json(topology, cables), options, builder); !read) {
    return std::unexpected(read.error());
  }
  auto built = std::move(builder).build();
  if (!built) return std::unexpected(built.error());
  return std::make_shared<const fabric::Topology>(std::move(*built));
}

}  // namespace

Result<AcceptTopology> fabric_as_cabled(const AcceptedTopology& accepted, const std::vector<fabric::Recabling>& cables,
                                        const std::string& subnet) {
  const AcceptedTopology& intended = accepted.intended ? *accepted.intended : accepted;
  auto topology = recabled(*accepted.topology, cables);
  if (!topology) return std::unexpected(topology.error());
  AcceptTopology command{.if_version = accepted.version};
  AcceptTopology::AsCabled as_cabled{.subnet = subnet, .exchanged = count_other_links(**topology, *intended.topology)};
  command.topology = as_cabled.exchanged == 0 ? intended.topology : *topology;
  command.document = std::make_shared<const std::string>(fabric::write_native_json(*command.topology));
  command.digest = as_cabled.exchanged == 0 ? intended.digest : api::sha256_hex(*command.document);
  command.source = as_cabled.exchanged == 0 ? intended.source : intended.source + ", cables as found";
  const fabric::Topology& t = *command.topology;
  for (const fabric::Recabling& cable : cables) {
    if (as_cabled.cables.size() == TopologyDiffers::kMaxEvents) break;
    const auto port = same_port(*accepted.topology, cable.a, t);
    const std::string was = accepted.topology->link_text(accepted.topology->link(cable.a));
    const std::string is = t.link_text(t.link(port));
    as_cabled.cables.push_back(
        {"link", is,
         "the cable of port " + t.port_text(port) + " was put elsewhere: link " + is + " is in the place of " + was});
  }
  command.as_cabled = std::move(as_cabled);
  return command;
}

bool CablingFollower::has_settled(std::int64_t now_us) const {
  return sightings_ >= kSightings && now_us - since_us_ >= 2 * context_.options.sweep_every.count() * kUsPerMs;
}

bool CablingFollower::may_import(std::int64_t now_us) {
  while (!imported_us_.empty() && now_us - imported_us_.front() >= kWindowUs) imported_us_.pop_front();
  return imported_us_.size() < kMostImports;
}

void CablingFollower::saw(const ClusterState& state, const SubnetLinks& links) {
  const std::int64_t now = context_.now();
  const fabric::Topology* const intended = state.accepted.intended ? state.accepted.intended->topology.get() : nullptr;
  auto found = find_exchanged(links, intended, context_.driver(), !context_.options.use_swapped_cables);
  if (found != found_ || version_ != state.accepted.version) {
    found_ = std::move(found);
    version_ = state.accepted.version;
    since_us_ = now;
    sightings_ = 0;
  }
  if (found_.empty()) return;
  ++sightings_;
  if (made_.valid() || !has_settled(now) || !may_import(now)) return;
  imported_us_.push_back(now);
  sightings_ = 0;  // a report that is lost is made again
  since_us_ = now;
  made_ = std::async(context_.options.audits,
                     [accepted = state.accepted, cables = found_, subnet = context_.options.subnet] {
                       return fabric_as_cabled(accepted, cables, subnet);
                     });
}

void CablingFollower::report_made() {
  if (!made_.valid() || made_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return;
  auto made = made_.get();
  if (made) context_.with.report(std::move(*made));
}

void show_exchanges(const SubnetContext& context, const std::vector<Exchange>& exchanges) {
  SubnetStatus& status = context.status();
  std::vector<Alarm> alarms;
  for (const Exchange& exchange : exchanges) {
    for (const Exchange::Cable& cable : exchange.cables) {
      ++status.difference_count;
      if (status.differences.size() == SubnetStatus::kMaxDifferences) continue;
      status.differences.push_back({FabricDifference::Kind::exchanged_link, cable.link, cable.text});
    }
    if (alarms.size() > kMostExchangeAlarms) continue;
    alarms.push_back({.subject_kind = "link", .subject_id = exchange.cables.front().link, .text = exchange.text});
  }
  if (alarms.size() > kMostExchangeAlarms) {
    alarms.assign(1, {.subject_kind = "subnet",
                      .subject_id = context.options.subnet,
                      .text = std::to_string(exchanges.size()) + " groups of cables of " + context.name() +
                              " are exchanged and used as they are: railweave subnets show " + context.options.subnet});
  }
  context.alarms().set("link.exchanged", std::move(alarms));
}

}  // namespace railweave::control
