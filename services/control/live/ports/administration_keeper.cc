#include "services/control/live/ports/administration_keeper.h"

#include <utility>

namespace railweave::control {
namespace {

constexpr std::int64_t kTellEveryUs = 250'000, kShowCountsEveryUs = 1'000'000, kWarnEveryUs = 60'000'000;
constexpr std::int64_t kTellAgainUs = 5'000'000;  // ports that did not take it
constexpr std::int64_t kLeadEveryUs = 100'000;
constexpr std::int64_t kLeadBesideSilentUs = 1'000'000,
                       kLeadAgainUs = 5'000'000;     // a silent switch holds up the others
constexpr std::int64_t kVerifyEveryUs = 30'000'000;  // a switch that was reset holds nothing

// None while the routes are of another topology than what is to be avoided: they follow at once.
std::vector<fabric::LinkId> links_without_transit(const fabric::FabricView& view, const fabric::Routing& routing) {
  std::vector<fabric::LinkId> links;
  if (view.topology_ptr() == nullptr || &view.topology() != &routing.tables.scope().topology()) return links;
  for (const fabric::LinkId link : view.topology().links()) {
    if (!view.carries_transit(link)) links.push_back(link);
  }
  return links;
}

}  // namespace

Result<void> AdministrationKeeper::keep(const fabric::Routing& routing, std::uint64_t revision,
                                        const AvoidedLinks& avoided, const AdministeredTables& tables) {
  const auto counts = context_.driver().administration();
  if (!counts) return {};
  if (context_.now() - shown_us_ >= kShowCountsEveryUs) show(*counts);
  if (auto told = tell(routing, revision, avoided, tables); !told) return told;
  return keep_multicast(counts->multicast_revision);
}

Result<void> AdministrationKeeper::tell(const fabric::Routing& routing, std::uint64_t revision,
                                        const AvoidedLinks& avoided, const AdministeredTables& tables) {
  const std::int64_t now = context_.now();
  const bool differs = is_due_ || revision != routing_revision_ || tables.revision != tables_revision_ ||
                       avoided.version != avoided_version_;
  if (!differs || (was_told_ && now - told_us_ < kTellEveryUs)) return {};
  if (!context_.mode_holds()) return {};
  const auto report = context_.driver().administer({.routing = routing,
                                                    .partitions = tables.partitions,
                                                    .tables = tables.ports,
                                                    .avoided = links_without_transit(avoided.view, routing)});
  if (!report) return context_.not_written(report.error());
  if (!was_told_ || report->announced > 0 || report->failed > 0) {
    context_.log().info("administration: {} devices, {} ports with LIDs; {} were told to ask, {} did not take it",
                        report->devices, report->end_ports, report->announced, report->failed);
  }
  devices_ = report->devices;
  end_ports_ = report->end_ports;
  is_due_ = false;
  is_multicast_due_ = true;
  was_told_ = true;
  routing_revision_ = revision;
  tables_revision_ = tables.revision;
  avoided_version_ = avoided.version;
  told_us_ = report->failed > 0 ? now + kTellAgainUs - kTellEveryUs : now;
  if (report->failed > 0) is_due_ = true;
  return {};
}

// Groups are led once clients can be told of them.
Result<void> AdministrationKeeper::keep_multicast(std::uint64_t revision) {
  const std::int64_t now = context_.now();
  const bool verifies = now - verified_us_ >= kVerifyEveryUs;
  const bool differs = is_multicast_due_ || verifies || revision != multicast_revision_;
  if (!was_told_ || (!differs && led_.failed == 0)) return {};
  const std::int64_t every = led_.failed == 0 ? kLeadEveryUs : differs ? kLeadBesideSilentUs : kLeadAgainUs;
  if (now - led_us_ < every) return {};
  if (!context_.mode_holds()) return {};
  const auto report = context_.driver().keep_multicast(verifies);
  if (!report) return context_.not_written(report.error());
  const bool is_new = report->blocks > 0 || report->failed != led_.failed || report->unreachable != led_.unreachable ||
                      report->unproven != led_.unproven || report->left_out != led_.left_out;
  if (is_new) {
    context_.log().write(report->failed > 0 ? log::Level::warn : log::Level::info,
                         "multicast: {} groups, {} members ({} not reached); {} blocks written, {} not taken",
                         report->groups, report->members, report->unreachable, report->blocks, report->failed);
  }
  if (is_new && report->unproven + report->left_out > 0) {
    context_.log().warn(
        "multicast: {} groups and {} switches without a tree that is free of circles on the lanes of routes",
        report->unproven, report->left_out);
  }
  led_ = *report;
  led_us_ = now;
  if (verifies) verified_us_ = now;
  is_multicast_due_ = false;
  multicast_revision_ = report->revision;
  return {};
}

void AdministrationKeeper::show(const fabric::AdministrationCounts& counts) {
  shown_us_ = context_.now();
  AdministrationStatus shown{.devices = devices_,
                             .end_ports = end_ports_,
                             .requests = counts.requests,
                             .answered = counts.answered,
                             .refused = counts.refused,
                             .dropped = counts.dropped,
                             .wrong_keys = counts.wrong_keys,
                             .records = counts.records,
                             .segments = counts.segments,
                             .given_up = counts.given_up,
                             .subscriptions = counts.subscriptions,
                             .reports = counts.reports,
                             .reports_confirmed = counts.reports_answered,
                             .reports_given_up = counts.reports_given_up,
                             .asked = {}};
  for (std::size_t i = 0; i < counts.asked.size(); ++i) {
    const auto& [answered, refused, unsupported] = counts.asked[i];
    if (answered + refused + unsupported == 0) continue;
    shown.asked.push_back({fabric::kAskedAttributes[i], answered, refused, unsupported});
  }
  context_.status().administration = std::move(shown);
  if (counts.wrong_keys < warned_of_) warned_of_ = 0;  // another connection
  if (counts.wrong_keys == warned_of_ || (warned_us_ != 0 && shown_us_ - warned_us_ < kWarnEveryUs)) return;
  context_.log().warn("administration: {} requests showed a wrong key", counts.wrong_keys - warned_of_);
  warned_of_ = counts.wrong_keys;
  warned_us_ = shown_us_;
}

}  // namespace railweave::control
