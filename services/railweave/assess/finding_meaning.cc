#include "services/railweave/assess/finding_meaning.h"

#include <algorithm>
#include <array>

namespace railweave::cli {
namespace {

constexpr std::string_view kAsTold = "as the source tells it",
                           kCompleteDump = "certain, as far as the dump is complete",
                           kOfOneTime = "certain, where both sources are of one time",
                           kTakeAgain = "take the dump again; where it says the same, look at the device";

// Of cables and devices.
constexpr auto kOfCabling = std::to_array<FindingMeaning>({
    {"hostShortOfRail", "as sure as the rails: hosts beside these have a port there",
     "collectives of jobs on such hosts run over fewer rails",
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
    {"danglingLink", "certain: one end does not tell of it", "it may be a dump that was cut off",
     "take the dump again; then look at the cable"},
    {"linkEndsDiffer", "certain: each end tells another rate", "routes over it run at the slower of the two rates",
     "look at the cable and at the settings of both ports"},
    {"linkToItself", kAsTold, "the port is left out of all routes", kTakeAgain},
    {"siteLinkToItself", kAsTold, "the link is left out", "correct the link's two sites"},
    {"portUsedTwice", "certain that the source contradicts itself", "one of the two cables is left out", kTakeAgain},
    {"portOutOfRange", "certain that the source contradicts itself", "the cable is left out", kTakeAgain},
    {"portWithTwoCables", "certain that two sources differ; which one is right is not known",
     "one of the two cables is left out", "take both again at one time, and look at the port"},
    {"sameTierLinks", "certain; whether they are meant to be there is not known",
     "routes that use them can wait for each other in a circle, and some routing engines refuse them",
     "look whether these cables belong to another tier"},
    {"hostOnSpine", "likely: the switch has the cables of a spine",
     "some routing engines refuse a tree with hosts on a spine", "move the host's cable to a leaf"},
    {"severalComponents", kCompleteDump, "hosts of different parts cannot reach each other",
     "were all dumps given, and is a cable missing?"},
    {"isolatedSwitch", kCompleteDump, "its ports carry nothing",
     "were all dumps given? else look for the cables that are down"},
    {"hostWithoutLinks", kCompleteDump, "the host's GPUs can run jobs of one node alone", "look at its adapters"},
    {"duplicateLid", "certain", "packets for one port arrive at another", "restart the subnet manager's sweep"},
    {"tooManyLids", "certain", "some ports get no address", "divide the subnet, or give ports fewer addresses (LMC)"},
    {"linkBetweenSubnets", "certain", "two subnet managers may write to the same switches", "remove the cable"},
    {"duplicateGuid", "certain", "forwarding to one of the two fails", "look for a device that was cloned or replaced"},
    {"levelsNotNested", "certain, as far as groups are told right", "placement cannot use both kinds of groups",
     "correct the racks or domains that overlap"},
    {"hostsWithoutSite", kAsTold, "jobs may be placed across sites without that being seen",
     "name the site of all hosts"},
    {"siteFallsApart", kCompleteDump, "hosts of one site cannot reach each other", "were all dumps of the site given?"},
    {"nvlinksDown", "certain at the time of the report", "tensor-parallel groups run at the rate of the slowest GPU",
     "drain the machine and look at its NVLink cables or bridges"},
});

// Of names.
constexpr auto kOfNames = std::to_array<FindingMeaning>({
    {"equalDescriptions", "certain", "no job is found on these machines, and none can be placed on them by name",
     "give each a node description of its own, as rdma-ndd does, and take the dump again"},
    {"duplicateDescription", "certain", "adapters of one machine may count as two machines",
     "give each a node description of its own, as rdma-ndd does, and take the dump again"},
    {"duplicateName", "certain", "the switch is shown under another name", "give each switch a name of its own"},
    {"unprintableName", "certain", "the name is shown with escapes", "set another node description"},
});

// Of sources: what they leave out, and where they contradict each other.
constexpr auto kOfSources = std::to_array<FindingMeaning>({
    {"sourcesDisagree", "certain that two sources differ; which one is right is not known",
     "what follows from the one that is wrong is wrong here, too",
     "take both again at one time, and correct the one that is wrong"},
    {"groupNotNear", kOfOneTime, "the scheduler believes jobs to be near that are not",
     "write the scheduler's topology from the cables"},
    {"hostNotCabled", "certain that no cable of the dumps leads there", "its GPUs are left out of this report",
     "add the dump of its subnet, or correct the host's name"},
    {"systemNotCabled", "certain that no cable of the dumps leads there", "it is left out of this report",
     "add the dump of its subnet, or look for what took it away"},
    {"partlyInPartition", kOfOneTime, "collectives of the partition's jobs lack the rails that are outside",
     "add the other ports to the partition"},
    {"partitionGuidUnknown", kOfOneTime, "such a port is judged by no partition",
     "add the dump of its subnet, or remove the GUID from the partition"},
    {"speedAssumed", "certain that no source tells it", "times and bandwidths here are as good as the assumption",
     "give a source that tells rates, such as ibnetdiscover, UFM's ports or SONiC's config_db.json"},
    {"hostsWithoutGroup", "certain that no source tells it", "jobs on these hosts are not placed near each other",
     "give a source that tells groups or cables, or label the hosts"},
    {"rowsLeftOut", "certain", "what these rows tell is missing here", "look at the rows that are named"},
    {"unreadableLine", "certain", "what these lines tell is missing here", "look at the lines that are named"},
    {"unreadableLink", "certain", "the link is missing here", kTakeAgain},
    {"unsupportedLine", "certain", "what this line tells is missing here", "write what it does as cables"},
    {"unknownPeer", "certain that the source does not describe the other end", "the link is missing here",
     "take the dump again, whole"},
    {"peerNotFound", "certain that the source does not describe the other end", "the link is missing here",
     "take the dump again, whole; ibnetdiscover tells both ends"},
    {"deviceWithoutSection", "certain that the source does not describe the device",
     "its other cables are missing here", "take the dump again, whole"},
    {"duplicateSection", "certain that the source describes it twice", "none, where both say the same",
     "was the dump taken twice into one file?"},
    {"tooManyFindings", "certain", "more is wrong than is listed", "repair what is listed, and look again"},
});

// Of GPUs: NVLink domains, adapters.
constexpr auto kOfGpus = std::to_array<FindingMeaning>({
    {"affinityNotApplied", "certain that no host is like this machine", "ranks may get adapters far from their GPUs",
     "give the file of a machine of this fabric, or name its hosts with --hosts"},
    {"gpuWithoutNic", "as the machine's own report tells it", "such a GPU sends over an adapter of another one",
     "look whether an adapter is missing or disabled"},
    {"nicOfAnotherHost", "certain that the source contradicts itself", "the adapter is left out for this GPU",
     "correct the list of adapters"},
    {"cliqueContradiction", "certain that the source contradicts itself",
     "these nodes' NVLink domains are as they were", "take the list again"},
    {"cliqueNotAvailable", "certain that the driver does not tell it", "NVLink between these nodes is not used",
     "look whether the domain's fabric manager runs and the GPUs have joined it"},
    {"cliquePlatformUnknown", "certain that no source tells the platform", "NVLink between these nodes is not used",
     "name the product in the list, or give the nodes' labels"},
    {"nodeNotInFabric", "certain that no cable of the dumps leads there", "it is left out of this report",
     "add the dump of its subnet, or correct the node's name"},
    {"nodeWithoutGpus", "certain that no source tells its GPUs", "it is in no NVLink domain here",
     "give a source that tells GPUs, or --gpus-per-node"},
});

constexpr FindingMeaning kOther{"", kAsTold, "not known", "look at what is named"};

}  // namespace

const FindingMeaning& meaning_of(std::string_view code) {
  const auto in = [&](const auto& table) {
    const auto found = std::ranges::find(table, code, &FindingMeaning::code);
    return found == table.end() ? nullptr : &*found;
  };
  for (const FindingMeaning* found : {in(kOfCabling), in(kOfNames), in(kOfSources), in(kOfGpus)}) {
    if (found != nullptr) return *found;
  }
  return kOther;
}

}  // namespace railweave::cli
