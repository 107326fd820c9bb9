#include "services/railweave/assess/cabling_advice.h"

#include <array>
#include <string_view>

#include <fmt/core.h>

#include "fabric/base/plural.h"
#include "fabric/topology/checks/checks.h"

namespace railweave::cli {
namespace {

struct Meaning {
  std::string_view code, sure, cost, action;
};

constexpr std::array<Meaning, 17> kMeanings{{
    {"hostShortOfRail", "as sure as the rails: hosts beside these have a port there", "",
     "reseat or replace the cable or adapter of the missing rail; until then keep large jobs off these hosts"},
    {"adapterOnOddRail", "likely: the same adapter of most hosts is on another rail",
     "traffic of the rail crosses to another one through spines", "exchange the cables at the leaf"},
    {"portsCrossed", "likely: each of the two ports is where the other one belongs",
     "traffic of both rails crosses spines, at every step of a collective", "exchange the two cables"},
    {"leafShortOfUplinks", "certain that links are missing, if the dump is complete",
     "hosts of the leaf share fewer uplinks than those of others", "look for the cables that are down or missing"},
    {"spineShortOfLinks", "certain that links are missing, if the dump is complete",
     "less room through this spine; routes to it concentrate on the links left", "look for the cables that are down"},
    {"linkSlowerThanClass", "certain: the link's own width or speed",
     "every route over it runs at its rate, and collectives at that of the slowest", "reseat or replace the cable"},
    {"asymmetricLink", "certain: one end does not tell of it", "it may be a dump that was cut off",
     "take the dump again; then look at the cable"},
    {"severalComponents", "certain, as far as the dump is complete", "hosts of different parts cannot reach each other",
     "were all dumps given, and is a cable missing?"},
    {"hostWithoutLinks", "certain, as far as the dump is complete", "the host's GPUs can run jobs of one node alone",
     "look at its adapters"},
    {"duplicateLid", "certain", "packets for one port arrive at another", "restart the subnet manager's sweep"},
    {"linkBetweenSubnets", "certain", "two subnet managers may write to the same switches", "remove the cable"},
    {"groupNotNear", "certain, where cables and groups are of one time",
     "the scheduler believes jobs to be near that are not", "write the scheduler's topology from the cables"},
    {"sourcesDisagree", "certain that two sources differ; which one is right is not known", "",
     "take both again at one time, and correct the one that is wrong"},
    {"hostNotCabled", "certain that no cable of the dumps leads there", "its GPUs are left out of this report",
     "add the dump of its subnet, or correct the host's name"},
    {"systemNotCabled", "certain that no cable of the dumps leads there", "it is left out of this report",
     "add the dump of its subnet, or look for what took it away"},
    {"partlyInPartition", "certain, where partitions and cables are of one time",
     "collectives of the partition's jobs lack the rails that are outside", "add the other ports to the partition"},
    {"duplicateGuid", "certain", "forwarding to one of the two fails", "look for a device that was cloned or replaced"},
}};

const Meaning* meaning_of(std::string_view code) {
  for (const Meaning& meaning : kMeanings) {
    if (meaning.code == code) return &meaning;
  }
  return nullptr;
}

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

std::string command_for(const fabric::Finding& finding, const std::string& sources) {
  if (finding.code == "groupNotNear") return "railweave lab convert FABRIC --to topology.conf";
  return "railweave fabric import " + sources + " -o fabric.json && railweave lab fabric fabric.json";
}

}  // namespace

std::vector<Advice> cabling_advice(const fabric::Topology& topology, const std::vector<fabric::Finding>& findings,
                                   const std::string& sources) {
  std::vector<Advice> advice;
  for (const fabric::Finding& finding : findings) {
    if (finding.severity == fabric::Severity::info) continue;
    const Meaning* meaning = meaning_of(finding.code);
    Advice one{.code = finding.code,
               .severity = std::string(fabric::to_string(finding.severity)),
               .title = finding.message,
               .sure = meaning != nullptr ? std::string(meaning->sure) : "as the source tells it",
               .cost = meaning != nullptr ? std::string(meaning->cost) : "",
               .action = meaning != nullptr ? std::string(meaning->action) : "",
               .command = command_for(finding, sources),
               .objects = finding.objects};
    if (finding.code == "hostShortOfRail") one.cost = rail_cost(topology, finding.objects);
    advice.push_back(std::move(one));
  }
  return advice;
}

}  // namespace railweave::cli
