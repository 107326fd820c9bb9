#include "services/railweave/lab/placement_report.h"

#include "scheduler/placement/rank_map.h"
#include "services/json/json_out.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/rest/json/jobs/placement_value.h"

namespace railweave::cli {

Json placement_report(const scheduler::JobSpec& spec, const scheduler::PlacementResult& result,
                      const scheduler::PlacementFabric& fabric, double place_us) {
  Json value{{"outcome", api::to_string(result.outcome)}};
  const bool placed = result.outcome == scheduler::Outcome::placed;
  value["reason"] = placed ? std::string() : result.explanation.whole().whole_text();
  if (placed) {
    const scheduler::RankMap map(fabric, spec.parallelism, result.placement.gpu_of_rank);
    value["ranks"] = api::ranks_json(map, fabric, 0, map.size());
    value.update(api::placement_json(result.placement, fabric.topology()));
    value["groups"] = api::groups_json(fabric, spec.parallelism, result.placement);
    value["predicted"] = api::predicted_json(result.placement);
  } else {
    value["ranks"] = Json::array();
    value["domainsUsed"] = 0;
    value["level"] = nullptr;
    value["code"] = result.explanation.code;
    value["explanation"] = api::explanation_json(result.explanation);
  }
  if (!result.shapes.empty()) value["shapes"] = api::shapes_json(result.shapes, MessageReader::all());
  value["placeUs"] = place_us;
  return value_or_fail(parse_json(api::dump(value)));
}

}  // namespace railweave::cli
