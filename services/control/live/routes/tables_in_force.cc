#include "services/control/live/routes/tables_in_force.h"

#include <memory>
#include <utility>

#include "fabric/base/guid.h"
#include "services/control/live/routes/table_reading.h"
#include "services/control/state/cluster_state.h"
#include "services/control/views/seen_tables.h"

namespace railweave::control {
namespace {

constexpr std::int64_t kSayAgainUs = 2'000'000;  // a report that was lost is made again

}  // namespace

void TablesInForce::report(const ClusterState& state, KnownTables known) {
  if (known.routing == nullptr) return report_unknown(state, known.reason, known.levels);
  SubnetTables tables{.source = known.are_wanted ? TablesSource::wanted : TablesSource::seen,
                      .reader = context_.with.reader,
                      .reason = std::move(known.reason),
                      .levels = std::move(known.levels),
                      .lost_pairs = known.lost_pairs,
                      .unread = known.unread};
  if (!known.are_wanted) {
    fabric::Lanes lanes = tables.levels.empty() ? fabric::Lanes() : known.routing->lanes;
    if (digest_.empty() || !same_tables(published_, known.routing->tables) || published_lanes_.planes != lanes.planes) {
      published_ = known.routing->tables;
      published_lanes_ = std::move(lanes);
      digest_ = to_string(Guid(digest_of(*known.routing, links_.switches())));
      if (context_.with.publish_tables) {
        context_.with.publish_tables(std::make_shared<const SeenTables>(
            SeenTables{context_.options.subnet, digest_, context_.with.reader, published_,
                       planes_of(published_.scope(), links_.switches()), published_lanes_}));
      }
    }
    tables.digest = digest_;
  }
  say(state, std::move(tables));
}

void TablesInForce::report_unknown(const ClusterState& state, const std::string& reason, const std::string& levels) {
  say(state, {.source = TablesSource::unknown,
              .digest = digest_,
              .reader = context_.with.reader,
              .reason = reason,
              .levels = levels});
}

void TablesInForce::say(const ClusterState& state, SubnetTables tables) {
  const SubnetTables* present = state.tables(context_.options.subnet);
  if (present != nullptr && present->says_the_same_as(tables)) return;
  const bool is_under_way = said_us_ != 0 && said_.says_the_same_as(tables);
  if (is_under_way && context_.now() - said_us_ < kSayAgainUs) return;
  said_ = tables;
  said_us_ = context_.now();
  context_.with.report(ReportTables{{context_.options.subnet, std::move(tables)}});
}

}  // namespace railweave::control
