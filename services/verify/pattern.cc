#include "services/verify/pattern.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace railweave::verify {
namespace {

using Json = nlohmann::json;

struct Sizes {
  std::uint64_t tensor, context, expert, data, pipeline;
};

// What a rank hands to the collectives of one kind of group in a step.
struct Volume {
  double bytes = 0;
  std::string exchange = "rings";
  std::size_t servers = 1;
};
using Volumes = std::map<std::string, Volume>;

struct Nic {
  PortName port;
  std::optional<std::size_t> rail, plane;
};
struct RankPlace {
  std::string host, unit;  // unit: NVLink domain, else host
  std::vector<Nic> nics;
  std::size_t host_number = 0, gpu = 0, first_gpu = 0;  // first_gpu: of those that share its adapters
};
using Group = std::vector<std::size_t>;  // ranks, ascending

Volumes stated(const Json& traffic) {
  Volumes volumes;
  for (const auto& [name, one] : traffic.items()) {
    volumes[name] = {one.at("bytesPerStep").get<double>(), one.value("exchange", std::string("rings")),
                     one.value("servers", std::size_t{1})};
  }
  return volumes;
}

double width_of(const std::string& precision) { return precision == "fp32" ? 4 : precision == "fp8" ? 1 : 2; }

// A job that says nothing of itself: 2e9 parameters for each GPU of a replica, half of them experts where there are any.
Json usual_model(const Sizes& n) {
  const double parameters = 2e9 * static_cast<double>(n.tensor * n.pipeline);
  const auto layers = static_cast<std::uint64_t>(parameters / (12.0 * 8192 * 8192));
  Json model = {
      {"parameters", parameters},           {"layers", std::max(n.pipeline, layers)},    {"hiddenSize", 8192},
      {"sequenceLength", 4096 * n.context}, {"globalBatchSize", 16 * n.data * n.expert}, {"kvFraction", 0.125}};
  if (n.expert > 1) model["experts"] = {{"count", n.expert}, {"parameters", parameters / 2}};
  return model;
}

Volumes of_model(const Json& model, const Sizes& n) {
  const auto number = [&](const char* name, double otherwise) { return model.value(name, otherwise); };
  const double tp = static_cast<double>(n.tensor), cp = static_cast<double>(n.context);
  const double pp = static_cast<double>(n.pipeline), ep = static_cast<double>(n.expert);
  const double sequences = number("microBatchSize", 1);
  const double steps = number("globalBatchSize", 1) / (sequences * static_cast<double>(n.data) * ep);
  const double times = number("layers", 0) / pp * steps;  // layers of a stage by micro-batches
  const double width = width_of(model.value("precision", std::string("bf16")));
  const double whole = sequences * number("sequenceLength", 0) * number("hiddenSize", 0) * width;
  const double part = whole / cp;  // of a context rank
  const bool again = model.value("recompute", false);
  const bool has_experts = model.contains("experts") && model.at("experts").is_object();
  const Json experts = has_experts ? model.at("experts") : Json::object();

  Volumes volumes;
  if (n.tensor > 1) volumes["tensor"].bytes = (again ? 6 : 4) * times * part;
  if (n.context > 1) volumes["context"].bytes = (again ? 4 : 3) * times * 2 * whole * number("kvFraction", 1) / tp;
  if (n.expert > 1 && has_experts) {
    volumes["expert"].bytes = 4 * times / experts.value("every", 1.0) * part * experts.value("perToken", 2.0) / tp;
  }
  if (n.pipeline > 1) volumes["pipeline"].bytes = steps * number("virtualStages", 1) * part / tp;
  // Gradients, as bytes of an all-reduce.
  const auto gradients = [&](double parameters) {
    const double sums =
        parameters * width_of(model.value("gradientPrecision", std::string("fp32"))) / number("gradientCompression", 1);
    const std::string sharding = model.value("sharding", std::string("none"));
    const double gathers = sharding == "none" ? 0 : sharding == "optimizer" ? 1 : 2 * steps;
    const double bytes = sharding == "none" ? sums : (sums + gathers * parameters * width) / 2;
    return Volume{bytes / number("synchroniseEvery", 1), model.value("gradientExchange", std::string("rings")),
                  model.value("parameterServers", std::size_t{1})};
  };
  const double of_experts = experts.value("parameters", 0.0);
  if (n.data * n.expert * n.context > 1) {
    volumes["data"] = gradients((number("parameters", 0) - of_experts) / (tp * pp));
  }
  if (of_experts > 0 && n.data * n.context > 1) volumes["expertData"] = gradients(of_experts / (tp * pp * ep));
  return volumes;
}

// Ranks are numbered with the tensor rank fastest, then context, expert, data and pipeline.
std::vector<Group> groups_of(const std::string& kind, const Sizes& n, std::size_t ranks) {
  const std::array<std::uint64_t, 5> sizes = {n.tensor, n.context, n.expert, n.data, n.pipeline};
  std::array<bool, 5> within = {kind == "tensor", kind == "context", kind == "expert", false, kind == "pipeline"};
  if (kind == "data" || kind == "expertData") within = {false, true, kind == "data", true, false};
  std::map<std::array<std::uint64_t, 5>, Group> groups;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::array<std::uint64_t, 5> at{};
    std::uint64_t rest = rank;
    for (std::size_t i = 0; i < at.size(); ++i) {
      at[i] = within[i] ? 0 : rest % sizes[i];
      rest /= sizes[i];
    }
    groups[at].push_back(rank);
  }
  std::vector<Group> all;
  for (auto& [at, group] : groups) {
    if (group.size() > 1) all.push_back(std::move(group));
  }
  return all;
}

using Send = std::function<void(std::size_t from, std::size_t to, double bytes)>;

void send_ring(const Group& ring, double bytes, const Send& send) {
  for (std::size_t i = 0; ring.size() > 1 && i < ring.size(); ++i) send(ring[i], ring[(i + 1) % ring.size()], bytes);
}

// How often a byte crosses a domain's adapters: along a flat ring, or, where NVLink reduces, by a double binary tree of few domains,
// or of domains within hosts. By the definitions of scheduler/collective/calibration.h.
double crossings(unsigned passes, bool reducing, double ranks, double domains) {
  constexpr double kHostGpus = 8;
  const bool ring = !reducing || (domains > 2 && ranks > kHostGpus * domains);
  if (passes == 1) return reducing ? (domains - 1) / domains : (ranks - 1) / ranks;
  if (ring) return 2 * (ranks - 1) / ranks;
  return domains == 2 ? 1 : domains == 3 ? 1.5 : 2;
}

// A ring inside each domain does not matter here; across domains there is one for each member of the smallest, nine at most.
void send_rings(const Group& group, double bytes, unsigned passes, bool reducing, const std::vector<RankPlace>& places,
                const Send& send) {
  constexpr std::size_t kMaxRings = 9;
  std::vector<Group> domains;
  std::map<std::string, std::size_t> number;
  for (const std::size_t rank : group) {
    const auto [at, is_new] = number.try_emplace(places[rank].unit, domains.size());
    if (is_new) domains.emplace_back();
    domains[at->second].push_back(rank);
  }
  if (domains.size() < 2) return;
  std::size_t rings = group.size();
  for (Group& domain : domains) {
    std::ranges::sort(domain, {}, [&](std::size_t rank) {
      const RankPlace& place = places[rank];
      const auto rail = place.nics.empty() ? std::nullopt : place.nics.front().rail;
      // Those without adapters come last.
      return std::tuple(rail.value_or(SIZE_MAX), place.nics.empty(), place.host_number, place.first_gpu, rank);
    });
    rings = std::min(rings, domain.size());
  }
  rings = std::min(rings, kMaxRings);
  const double share =
      crossings(passes, reducing, static_cast<double>(group.size()), static_cast<double>(domains.size()));
  for (std::size_t ring = 0; ring < rings; ++ring) {
    Group across;
    for (const Group& domain : domains) across.push_back(domain[ring]);
    send_ring(across, share * bytes / static_cast<double>(rings), send);
  }
}

void send_all(const std::string& kind, const Volume& volume, const Group& group, bool reducing,
              const std::vector<RankPlace>& places, const Send& send) {
  if (kind == "pipeline") {
    for (std::size_t i = 0; i + 1 < group.size(); ++i) {
      send(group[i], group[i + 1], volume.bytes);
      send(group[i + 1], group[i], volume.bytes);
    }
  } else if (kind == "expert") {
    for (const std::size_t from : group) {
      for (const std::size_t to : group) {
        if (from != to) send(from, to, volume.bytes / static_cast<double>(group.size()));
      }
    }
  } else if ((kind == "data" || kind == "expertData") && volume.exchange == "parameterServers") {
    const std::size_t servers = std::min(volume.servers, group.size());
    for (const std::size_t rank : group) {
      for (std::size_t s = 0; s < servers; ++s) {
        if (rank == group[s]) continue;
        send(rank, group[s], volume.bytes / static_cast<double>(servers));
        send(group[s], rank, volume.bytes / static_cast<double>(servers));
      }
    }
  } else {  // an all-reduce passes everything twice
    send_rings(group, volume.bytes, kind == "context" ? 1 : 2, reducing, places, send);
  }
}

// The first pair of ports on one rail, else the first on one plane.
std::optional<std::pair<PortName, PortName>> ports_between(const RankPlace& from, const RankPlace& to) {
  for (const bool on_rail : {true, false}) {
    for (const Nic& a : from.nics) {
      for (const Nic& b : to.nics) {
        if (on_rail && (!a.rail || a.rail != b.rail)) continue;
        if (a.plane && a.plane == b.plane) return std::pair(a.port, b.port);
      }
    }
  }
  return std::nullopt;
}

// By rank. None: GPUs that are not the job's share its adapters, or the fabric has no such node.
std::optional<std::vector<RankPlace>> places_of(const Json& ranks, const Network& network, const Parts& cabled) {
  std::vector<RankPlace> places(ranks.size());
  std::map<PortName, std::size_t> first_gpu;
  std::map<std::string, std::size_t> used;
  bool shared = false;
  for (const Json& rank : ranks) {
    RankPlace& place = places.at(rank.at("rank").get<std::size_t>());
    place.host = rank.at("node").get<std::string>();
    place.gpu = place.first_gpu = rank.at("gpu").get<std::size_t>();
    const auto number = network.host_number.find(place.host);
    const auto of_host = network.domains.find(place.host);
    if (number == network.host_number.end() || of_host == network.domains.end()) return std::nullopt;
    place.host_number = number->second;
    ++used[place.host];
    const auto& domains = of_host->second;
    const std::string domain = place.gpu < domains.size() ? domains[place.gpu] : std::string();
    place.unit = domain.empty() ? "host " + place.host : "domain " + domain;
    for (const Json& one : rank.at("nics")) {
      Nic nic{.port = one.at("port").get<std::string>()};
      if (one.at("rail").is_number()) nic.rail = one.at("rail").get<std::size_t>();
      const auto peer = network.peer.find(nic.port);
      const auto part = peer == network.peer.end() ? cabled.end() : cabled.find(switch_of(peer->second));
      if (part != cabled.end()) nic.plane = part->second;
      const auto [at, is_new] = first_gpu.try_emplace(nic.port, place.gpu);
      shared = shared || !is_new;
      at->second = std::min(at->second, place.gpu);
      place.nics.push_back(std::move(nic));
    }
  }
  for (RankPlace& place : places) {
    for (const Nic& nic : place.nics) place.first_gpu = std::min(place.first_gpu, first_gpu.at(nic.port));
  }
  const bool partly =
      std::ranges::any_of(used, [&](const auto& one) { return one.second < network.domains.at(one.first).size(); });
  if (shared && partly) return std::nullopt;
  return places;
}

// In proportion to their bytes, so that no port sends or receives more than the rate, then up to whole Mb/s.
Flows in_proportion(const std::map<std::pair<PortName, PortName>, double>& bytes, std::int64_t rate_mbps) {
  std::map<PortName, double> sent, received;
  for (const auto& [ports, sum] : bytes) {
    sent[ports.first] += sum;
    received[ports.second] += sum;
  }
  Flows flows;
  for (const auto& [ports, sum] : bytes) {
    const double share = sum / std::max(sent[ports.first], received[ports.second]);
    flows[ports] = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(rate_mbps) - 1e-6));
  }
  return flows;
}

}  // namespace

std::optional<PatternFlows> pattern_flows(const Json& job, const Network& network, const Parts& cabled,
                                          std::int64_t rate_mbps) {
  const Json& spec = job.at("spec");
  const Json& shape = spec.at("parallelism");
  const auto size = [&](const char* name) { return shape.value(name, std::uint64_t{1}); };
  const Sizes n{size("tensor"), size("context"), size("expert"), size("data"), size("pipeline")};
  const Volumes volumes = spec.contains("traffic") ? stated(spec.at("traffic"))
                          : spec.contains("model") ? of_model(spec.at("model"), n)
                                                   : of_model(usual_model(n), n);
  if (std::ranges::any_of(volumes, [](const auto& one) { return one.second.exchange == "inNetwork"; })) {
    return std::nullopt;
  }
  const auto places = places_of(job.at("ranks"), network, cabled);
  if (!places) return std::nullopt;
  const auto flows = [&](bool reducing) {
    std::map<std::pair<PortName, PortName>, double> bytes;
    const Send send = [&](std::size_t from, std::size_t to, double volume) {
      const RankPlace &a = (*places)[from], &b = (*places)[to];
      if (a.host == b.host || a.unit == b.unit || volume <= 0) return;
      auto ports = ports_between(a, b);
      // Else through another GPU of its NVLink domain or host; else no switch carries it.
      for (std::size_t rank = 0; !ports && rank < places->size(); ++rank) {
        if ((*places)[rank].unit == a.unit) ports = ports_between((*places)[rank], b);
      }
      if (ports) bytes[*ports] += volume;
    };
    for (const auto& [kind, volume] : volumes) {
      if (volume.bytes <= 0) continue;
      for (const Group& group : groups_of(kind, n, places->size())) {
        send_all(kind, volume, group, reducing, *places, send);
      }
    }
    return in_proportion(bytes, rate_mbps);
  };
  return PatternFlows{flows(true), flows(false)};
}

}  // namespace railweave::verify
