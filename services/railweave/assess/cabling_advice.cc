#include "services/railweave/assess/cabling_advice.h"

#include <fmt/core.h>

#include "fabric/base/plural.h"
#include "services/railweave/assess/finding_meaning.h"

namespace railweave::cli {
namespace {

// Of hosts that lack a rail: what a collective over all rails loses, and the GPUs that it concerns.
std::string rail_cost(const fabric::Topology& t, const std::vector<std::string>& hosts) {
  std::size_t gpus = 0;
  for (const std::string& name : hosts) {
    if (const fabric::HostId host = t.find_host(name)) gpus += t.gpus(host).size();
  }
  const std::size_t rails = t.rails().size();
  std::string text = fmt::format(
      "a job that uses such a host sends over {} of {} rails there, so its collectives run at {} % of the rate",
      rails > 0 ? rails - 1 : 0, rails, rails > 0 ? 100 * (rails - 1) / rails : 0);
  if (gpus > 0) text += "; " + plural(gpus, "GPU is", "GPUs are") + " in these hosts";
  return text;
}

}  // namespace

std::vector<Advice> cabling_advice(const fabric::Topology& topology, const std::vector<fabric::Finding>& findings,
                                   const ReportCommands& commands) {
  std::vector<Advice> advice;
  for (const fabric::Finding& finding : findings) {
    if (finding.severity == fabric::Severity::info) continue;
    const FindingMeaning& meaning = meaning_of(finding.code);
    Advice one{
        .code = finding.code,
        .severity = std::string(fabric::to_string(finding.severity)),
        .title = finding.message,
        .sure = std::string(meaning.sure),
        .cost = std::string(meaning.cost),
        .action = std::string(meaning.action),
        .command = finding.code == "groupNotNear" ? commands.lab("convert - --to topology.conf") : commands.fabric(),
        .objects = finding.objects};
    if (finding.code == "hostShortOfRail") one.cost = rail_cost(topology, finding.objects);
    advice.push_back(std::move(one));
  }
  return advice;
}

}  // namespace railweave::cli
