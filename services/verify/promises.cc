#include "services/verify/promises.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace railweave::verify {
namespace {

using Json = nlohmann::json;

std::int64_t mbps_of(const Json& gbps) { return std::llround(gbps.get<double>() * 1000); }

// The two ends of a link in either order are one link.
std::string in_order(const std::string& link) {
  const auto cut = link.find("--");
  if (cut == std::string::npos) return link;
  const std::string a = link.substr(0, cut), b = link.substr(cut + 2);
  return std::min(a, b) + "--" + std::max(a, b);
}

// Whether the job's ranks are all in one host or NVLink domain.
bool in_one_place(const Json& ranks, const Network& network) {
  std::set<std::string> hosts, domains;
  for (const Json& rank : ranks) {
    const auto host = rank.at("node").get<std::string>();
    const auto of_host = network.domains.find(host);
    const auto gpu = rank.at("gpu").get<std::size_t>();
    hosts.insert(host);
    const bool known =
        of_host != network.domains.end() && gpu < of_host->second.size() && !of_host->second[gpu].empty();
    domains.insert(known ? of_host->second[gpu] : "host " + host);
  }
  return hosts.size() <= 1 || domains.size() <= 1;
}

}  // namespace

Promises::Promises(const Outside& outside, const Network& network, Verdict& verdict) : classes_(outside.classes) {
  if (!outside.subnets.is_null()) spread_.emplace();
  for (const Json& one : outside.subnets.is_null() ? Json::array() : outside.subnets) {
    const auto spread = one.at("routing").at("spread").get<std::string>();
    const auto subnet = one.at("id").get<std::string>();
    const bool is_here = std::ranges::any_of(network.subnet, [&](const auto& of) { return of.second == subnet; });
    if (spread != "single" && is_here) spread_->emplace(subnet, spread);
  }
  cabled_ = cabled_parts_of(network);
  for (const Json& one : outside.contracts) contracts_[one.at("id").get<std::string>()] = one;
  for (const Json& one : outside.links_down) links_down_.insert(in_order(one.at("id").get<std::string>()));
  for (const Json& one : outside.jobs) {
    if (one.at("state") != "placed") continue;
    auto& ports = ports_of_[one.at("job").get<std::string>()];
    for (const Json& rank : one.at("ranks")) {
      for (const Json& nic : rank.at("nics")) ports.insert(nic.at("port").get<std::string>());
    }
  }
  for (const Json& one : outside.jobs) read_job(one, network, verdict);
}

void Promises::read_receivers(const Json& spec, const Network& network, Promise& promise) const {
  const Json request = spec.value("bandwidth", Json());
  const std::int64_t mbps = mbps_of(request.is_object() ? request.value("betweenRolesGbpsPerPort", Json(0)) : Json(0));
  if (mbps <= 0 || promise.pattern) return;
  const auto part = [&](const PortName& port) {
    const auto peer = network.peer.find(port);
    const auto at = peer == network.peer.end() ? cabled_.end() : cabled_.find(switch_of(peer->second));
    return at == cabled_.end() ? SIZE_MAX : at->second;
  };
  std::set<std::size_t> own;
  for (const PortName& port : promise.ports) own.insert(part(port));
  own.erase(SIZE_MAX);
  std::set<std::string> receivers;
  for (const Json& peer : spec.value("peers", Json::array())) {
    if (peer.at("sends").get<bool>()) receivers.insert(peer.at("job").get<std::string>());
  }
  for (const std::string& job : receivers) {
    const auto ports = ports_of_.find(job);
    if (ports == ports_of_.end()) continue;
    for (const PortName& port : ports->second) {
      if (own.contains(part(port))) promise.receiving[port] += mbps;
    }
  }
}

void Promises::read_job(const Json& job, const Network& network, Verdict& verdict) {
  if (job.at("state") != "placed") return;
  const auto contract = contracts_.find(job.at("tenant").get<std::string>());
  if (contract == contracts_.end()) return;
  const Json& terms = contract->second;
  const Json nothing = Json::object();
  const Json& spec = job.at("spec");
  const Json& request = spec.contains("bandwidth") && spec.at("bandwidth").is_object() ? spec.at("bandwidth") : nothing;
  Promise promise;
  promise.job = job.at("job").get<std::string>();
  promise.tenant = contract->first;
  promise.rate_mbps = mbps_of(terms.at("guaranteedGbps"));
  if (request.contains("guaranteedGbpsPerPort")) {
    const std::int64_t wanted = mbps_of(request.at("guaranteedGbpsPerPort"));
    if (wanted > promise.rate_mbps) verdict.fault(promise.job + ": is promised more than its tenant's contract says");
    promise.rate_mbps = wanted;
  }
  if (promise.rate_mbps <= 0) return;
  promise.reserved_permille = terms.at("reservedPermille").get<std::int64_t>();
  promise.pattern = request.value("model", terms.at("model").get<std::string>()) == "pattern";
  promise.survives = request.value("surviveLinkFailure", terms.at("surviveLinkFailure").get<bool>());
  promise.qos_class = request.value("qosClass", std::string());
  if (promise.qos_class.empty() && !terms.at("classes").empty()) promise.qos_class = terms.at("classes").at(0);
  for (const Json& one : classes_) {
    if (promise.qos_class.empty() && one.value("bound", "") == "bandwidth") promise.qos_class = one.at("name");
  }
  const Json& guarantee = job.at("guarantee");
  if (guarantee.is_null()) {
    return verdict.fault(promise.job + ": its tenant's contract promises bandwidth, and the service gives it none");
  }
  promise.at_risk = guarantee.at("state") == "atRisk";
  promise.in_class = terms.value("isolation", "") == "class";
  promise.covered = promise.survives && guarantee.at("covered").get<bool>();
  promise.as_cabled = guarantee.value("coveredAsCabled", false);
  promise.lane_number = guarantee.value("lane", Json());
  promise.on_network = !in_one_place(job.at("ranks"), network);
  for (const Json& rank : job.at("ranks")) {
    const auto node = rank.at("node").get<std::string>();
    if (rank.at("nics").empty() && promise.on_network && !promise.at_risk) {
      verdict.fault(fmt::format("{}: rank {} on {} has no port with a cable, and its guarantee is said to hold",
                                promise.job, rank.at("rank").get<std::uint64_t>(), node));
    }
    for (const Json& nic : rank.at("nics")) {
      const auto port = nic.at("port").get<std::string>();
      if (terms.value("isolation", "") == "lane" && network.infiniband.contains(port)) promise.lane = true;
      const auto host = network.host.find(port);
      if (host == network.host.end() || host->second != node) verdict.fault(port + ": is no port of " + node);
      promise.ports.insert(port);
    }
  }
  if (terms.at("basis") == "perJob" && !promise.ports.empty()) {
    promise.rate_mbps /= static_cast<std::int64_t>(promise.ports.size());
  }
  read_receivers(spec, network, promise);
  if (promise.pattern && !promise.at_risk) {
    promise.flows =
        promise.on_network ? pattern_flows(job, network, cabled_, promise.rate_mbps) : PatternFlows{};  // none at all
  }
  promises_[promise.job] = std::move(promise);
}

void Promises::compare(const Json& certificate, Verdict& verdict) const {
  // 1. Classes and links that are down.
  const Json& classes = certificate.at("classes");
  bool same = classes.size() == classes_.size();
  for (std::size_t c = 0; same && c < classes.size(); ++c) {
    same = classes[c].at("name") == classes_[c].at("name") &&
           classes[c].at("sharePermille") == classes_[c].at("sharePermille");
  }
  if (!same) verdict.fault("the classes are not those of the service");
  std::set<std::string> down;
  for (const Json& link : certificate.at("linksDown")) down.insert(in_order(link.get<std::string>()));
  if (down != links_down_ || down.size() != certificate.at("linksDown").size())
    verdict.fault("the links that are down are not those of the service");
  std::map<std::string, std::string> spread;
  for (const Json& one : certificate.value("spread", Json::array())) {
    spread[one.at("subnet").get<std::string>()] = one.at("spread").get<std::string>();
  }
  if (spread_ && spread != *spread_) verdict.fault("how subnets spread packets is not what the service was told");
  // 2. Jobs.
  std::set<std::string> seen;
  for (const Json& job : certificate.at("jobs")) {
    const auto id = job.at("job").get<std::string>();
    const auto promise = promises_.find(id);
    if (!seen.insert(id).second) {
      verdict.fault(id + ": is in the certificate twice");
    } else if (promise == promises_.end()) {
      verdict.fault(id + ": no contract promises it anything");
    } else if (promise->second.at_risk) {
      verdict.fault(id + ": its guarantee is at risk, and the certificate says that it holds");
    } else {
      compare_job(promise->second, job, verdict);
    }
  }
  for (const auto& [id, promise] : promises_) {
    if (seen.contains(id) || promise.at_risk || (promise.pattern && !promise.on_network)) continue;
    verdict.fault(id + ": has a guarantee that the certificate leaves out");
  }
}

void Promises::compare_job(const Promise& promise, const Json& job, Verdict& verdict) const {
  const auto differs = [&](const std::string& what) { verdict.fault(promise.job + ": " + what); };
  if (job.at("tenant") != promise.tenant) differs("is of tenant " + promise.tenant);
  if (job.at("class") != promise.qos_class) differs("its contract says class " + promise.qos_class);
  if (job.at("promise") != (promise.pattern ? "pattern" : "hose") || job.contains("flows") != promise.pattern ||
      job.contains("ports") == promise.pattern) {
    return differs("its contract says another model");
  }
  if (job.at("reservedPermille") != promise.reserved_permille) differs("its contract reserves another share");
  if (job.at("survivesLinkFailure") != promise.covered) {
    differs(promise.covered ? "its contract covers link failures, and the certificate does not"
                            : "no reservation for link failures is promised to it at present");
  }
  if (job.contains("lane") != promise.lane) {
    differs(promise.lane ? "its contract gives it a lane of its own, and the certificate does not"
                         : "has a lane of its own, which its contract does not say");
  }
  if (job.contains("lane") && job.at("lane") != promise.lane_number) {
    differs("was given lane " + promise.lane_number.dump() + ", not " + job.at("lane").dump());
  }
  if (!promise.pattern) {
    std::map<PortName, std::pair<std::int64_t, std::int64_t>> rates;  // to send and to receive
    for (const PortName& port : promise.ports) rates[port] = {promise.rate_mbps, promise.rate_mbps};
    for (const auto& [port, mbps] : promise.receiving) rates[port].second += mbps;
    std::set<PortName> ports;
    for (const Json& one : job.at("ports")) {
      const auto port = one.at("port").get<std::string>();
      ports.insert(port);
      const auto at = rates.find(port);
      if (at == rates.end()) continue;  // said below
      const auto [send, receive] = at->second;
      if (one.at("sendMbps") == send && one.at("receiveMbps") == receive) continue;
      differs(send == receive ? fmt::format("{} is promised {} Mb/s in each direction", port, send)
                              : fmt::format("{} is promised to send {} Mb/s and to receive {}", port, send, receive));
    }
    if (ports.size() != rates.size() || ports.size() != job.at("ports").size() ||
        std::ranges::any_of(ports, [&](const PortName& port) { return !rates.contains(port); })) {
      differs(promise.receiving.empty() ? "its ranks have other ports"
                                        : "its ranks, or those of roles that it sends to, have other ports");
    }
    return;
  }
  compare_flows(promise, job, verdict);
}

void Promises::compare_flows(const Promise& promise, const Json& job, Verdict& verdict) const {
  const auto differs = [&](const std::string& what) { verdict.fault(promise.job + ": " + what); };
  if (promise.flows) {
    Flows said;
    for (const Json& flow : job.at("flows")) {
      said[{flow.at("from").get<std::string>(), flow.at("to").get<std::string>()}] +=
          flow.at("mbps").get<std::int64_t>();
    }
    if (said != promise.flows->reducing && said != promise.flows->plain) {
      differs("its flows are not those that its groups of ranks make");
    }
    return;
  }
  // At least they are scaled so that the busiest port has its whole rate, and no port more than that and the rounding up
  // of its flows.
  struct Sum {
    std::int64_t mbps = 0, flows = 0;
  };
  std::map<std::pair<PortName, bool>, Sum> sums;
  for (const Json& flow : job.at("flows")) {
    for (const bool from : {true, false}) {
      const auto port = flow.at(from ? "from" : "to").get<std::string>();
      if (!promise.ports.contains(port)) differs(port + " is no port of its ranks");
      Sum& sum = sums[{port, from}];
      sum.mbps += flow.at("mbps").get<std::int64_t>();
      ++sum.flows;
    }
  }
  std::int64_t most = 0;
  for (const auto& [port, sum] : sums) {
    most = std::max(most, sum.mbps);
    if (sum.mbps > promise.rate_mbps + sum.flows) differs(port.first + " has more than its rate");
  }
  if (most < promise.rate_mbps) differs(fmt::format("no port has its whole rate of {} Mb/s", promise.rate_mbps));
}

std::map<std::string, std::size_t> Promises::by_agents() const {
  std::map<std::string, std::size_t> jobs;
  for (const auto& [id, promise] : promises_) {
    if (promise.in_class && !promise.at_risk) ++jobs[promise.qos_class];
  }
  return jobs;
}

std::map<PortName, std::set<std::string>> Promises::jobs_by_port() const {
  std::map<PortName, std::set<std::string>> jobs;
  for (const auto& [id, promise] : promises_) {
    for (const PortName& port : promise.ports) jobs[port].insert(id);
  }
  return jobs;
}

std::set<std::string> Promises::as_cabled() const {
  std::set<std::string> jobs;
  for (const auto& [id, promise] : promises_) {
    if (promise.as_cabled) jobs.insert(id);
  }
  return jobs;
}

std::size_t Promises::at_risk() const {
  return static_cast<std::size_t>(std::ranges::count_if(promises_, [](const auto& one) { return one.second.at_risk; }));
}

std::vector<std::string> Promises::not_covered() const {
  std::vector<std::string> jobs;
  for (const auto& [id, promise] : promises_) {
    if (promise.survives && !promise.covered && !promise.at_risk && promise.on_network) jobs.push_back(id);
  }
  return jobs;
}

std::vector<std::string> Promises::not_computed() const {
  std::vector<std::string> jobs;
  for (const auto& [id, promise] : promises_) {
    if (promise.pattern && !promise.at_risk && !promise.flows) jobs.push_back(id);
  }
  return jobs;
}

}  // namespace railweave::verify
