#include "services/verify/check.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/core.h>

namespace railweave::verify {
namespace {

using Json = nlohmann::json;

DirectedLink directed_link(const Json& link) {
  return {link.at("from").get<std::string>(), link.at("to").get<std::string>()};
}

PortName first_end(const std::string& link) { return link.substr(0, link.find("--")); }

std::string text_of(const DirectedLink& link) { return link.first + "->" + link.second; }

}  // namespace

Check::Check(const Network& network, const Json& certificate, std::int64_t packet_units, Verdict& verdict)
    : network_(network), cabling_(network), certificate_(certificate), verdict_(verdict), packet_units_(packet_units) {
  for (const Json& one : certificate.at("classes")) classes_.push_back(one.at("name").get<std::string>());
  for (const Json& link : certificate.at("links")) {
    const auto [at, is_new] = reserved_.try_emplace(directed_link(link));
    if (!is_new) verdict_.fault(text_of(directed_link(link)) + ": is in the certificate twice");
    auto& reserved = at->second;
    reserved = link.at("reservedMbps").get<std::vector<std::int64_t>>();
    if (reserved.size() != classes_.size()) {
      throw std::runtime_error(text_of(directed_link(link)) + ": reservedMbps needs one value per class");
    }
  }
  for (const Json& one : certificate.value("spread", Json::array())) {
    const auto how = one.at("spread").get<std::string>();
    if (how != "lmc" && how != "adaptive") throw std::runtime_error("'" + how + "' is no way to spread packets");
    spread_[one.at("subnet").get<std::string>()] = how;
  }
  lanes_ = std::make_unique<Lanes>(certificate, classes_, verdict);
}

void Check::links() {
  if (certificate_.at("usablePermille") != 950)
    verdict_.fault("950 of 1000 of each link may be reserved, not another part");
  for (const Json& one : certificate_.at("links")) link(one);
}

// The part of a full link that the port promises a class, as a fraction. An InfiniBand port serves its arbitration table
// in turns; a turn ends with the packet that uses up its weight, so every turn of others can be a packet longer. Of the
// lanes of a class the one with the least counts.
std::pair<std::int64_t, std::int64_t> Check::promise(const Json& link, std::size_t of_class) const {
  std::int64_t own = 0, all = 0;
  if (link.contains("weights")) {
    const auto weights = link.at("weights").get<std::vector<std::int64_t>>();
    for (const std::int64_t weight : weights) all += weight;
    return {weights.at(of_class), all};
  }
  struct Lane {
    std::int64_t of_class = 0, weight = 0, turns = 0;
  };
  std::map<std::int64_t, Lane> lanes;
  std::int64_t weight_of_all = 0, turns_of_all = 0;
  for (const Json& turn : link.at("turns")) {
    Lane& lane = lanes[turn.at(1).get<std::int64_t>()];
    lane.of_class = turn.at(0).get<std::int64_t>();
    const auto weight = turn.at(2).get<std::int64_t>();
    if (weight <= 0) continue;
    lane.weight += weight;
    ++lane.turns;
    weight_of_all += weight;
    ++turns_of_all;
  }
  bool first = true;
  for (const auto& [number, lane] : lanes) {
    if (lane.of_class != static_cast<std::int64_t>(of_class)) continue;
    const std::int64_t longest = weight_of_all + (turns_of_all - lane.turns) * packet_units_;
    if (first || lane.weight * all < own * longest) {
      own = lane.weight;
      all = longest;
    }
    first = false;
  }
  return {own, all};
}

void Check::turns(const Json& link, const std::string& name) {
  const bool is_infiniband = network_.infiniband.contains(link.at("from").get<std::string>());
  if (link.contains("weights") == is_infiniband || link.contains("turns") != is_infiniband) {
    return verdict_.fault(name + ": InfiniBand ports serve an arbitration table, others weights by class");
  }
  if (!is_infiniband) {
    Json shares = Json::array();
    for (const Json& one : certificate_.at("classes")) shares.push_back(one.at("sharePermille"));
    if (link.at("weights") != shares) verdict_.fault(name + ": its weights are not the shares of the classes");
    return;
  }
  if (link.at("turns").size() > certificate_.at("ports").at("arbitrationEntries").get<std::size_t>()) {
    verdict_.fault(name + ": no port has as many arbitration entries");
  }
  std::map<std::int64_t, std::int64_t> class_of;  // by lane
  for (const Json& turn : link.at("turns")) {
    if (turn.at(2).get<std::int64_t>() == 0) verdict_.fault(name + ": a turn of weight 0 is none");
    const auto of_class = turn.at(0).get<std::int64_t>();
    if (class_of.try_emplace(turn.at(1).get<std::int64_t>(), of_class).first->second != of_class) {
      verdict_.fault(name + ": a lane is of two classes");
    }
  }
}

void Check::link(const Json& link) {
  const DirectedLink directed = directed_link(link);
  const std::string name = text_of(directed);
  const auto peer = network_.peer.find(directed.first);
  if (peer == network_.peer.end() || peer->second != directed.second) {
    return verdict_.fault(name + ": the fabric has no such cable");
  }
  const auto capacity = link.at("capacityMbps").get<std::int64_t>();
  const std::int64_t known = network_.rate_mbps.at(directed.first), rate = known == 0 ? kUnknownRateMbps : known;
  if (capacity != rate) {
    verdict_.fault(fmt::format("{}: its capacity is not the link's rate, {} Mb/s, but {}", name, rate, capacity));
  }
  if (network_.dead.contains(directed.first)) verdict_.fault(name + ": is down and has reservations");
  constexpr std::int64_t usable = 950;
  turns(link, name);
  std::int64_t sum = 0;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const std::int64_t reserved = reserved_[directed][c];
    const auto share = certificate_.at("classes").at(c).at("sharePermille").get<std::int64_t>();
    sum += reserved;
    if (reserved * 1'000'000 > capacity * usable * share) {
      verdict_.fault(fmt::format("{}: {} has {} Mb/s reserved, over its share", name, classes_[c], reserved));
    }
    if (lanes_->reserved_in(directed, c) > reserved) {
      verdict_.fault(name + ": owners of lanes have more than is reserved in " + classes_[c]);
    }
  }
  promises(link, directed, capacity);
  if (sum > capacity) verdict_.fault(name + ": more is reserved than its capacity");
}

void Check::promises(const Json& link, const DirectedLink& directed, std::int64_t capacity) {
  const bool has_lanes = !link.contains("weights");
  const auto below = [&](std::int64_t reserved, std::size_t slot) {
    const auto [own, all] = promise(link, slot);
    return reserved > 0 && (all == 0 || own * capacity < reserved * all);
  };
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    if (below(reserved_[directed][c] - (has_lanes ? lanes_->reserved_in(directed, c) : 0), c)) {
      verdict_.fault(text_of(directed) + ": the weight of " + classes_[c] + " is below what is reserved");
    }
  }
  if (!has_lanes) return;
  for (const auto& [lane, owner] : lanes_->owners(directed)) {
    if (below(owner.reserved_mbps, classes_.size() + static_cast<std::size_t>(lane))) {
      verdict_.fault(fmt::format("{}: the weight of lane {} is below what is reserved for {}", text_of(directed), lane,
                                 owner.job));
    }
  }
}

void Check::jobs(const Routes& routes) {
  parts_ = parts_of(network_);
  cabled_ = cabled_parts_of(network_);
  // 1. The worst load of each link, summed over jobs.
  Loads loads;
  const Walker walker(cabling_, routes, network_.dead);
  lanes_->begin_routes();
  for (const Json& job : certificate_.at("jobs")) {
    damage(job);
    lids(job, routes);
    add_load({job, walker, ""}, loads);
  }
  // 2. Against what is reserved.
  within_reserved(loads, "");
}

void Check::nothing_beside(const std::set<std::string>& exact) {
  std::set<std::string> unknown;  // jobs, and their classes, for which more may be reserved than the routes seen need
  for (const Json& job : certificate_.at("jobs")) {
    const auto name = job.at("job").get<std::string>();
    if (!job.at("survivesLinkFailure").get<bool>() || exact.contains(name)) continue;
    unknown.insert(name);
    unknown.insert("class " + job.at("class").get<std::string>());
  }
  for (const auto& [link, reserved] : reserved_) {
    std::vector<std::int64_t> needed(classes_.size(), 0);
    const PortNumber port = cabling_.find(link.first);
    const auto needs = [&](const std::string& job) {
      const auto& load = worst_[job];
      const auto at = load.find(port);
      return at == load.end() ? 0 : at->second;
    };
    for (const Json& job : certificate_.at("jobs")) {
      const auto at = std::ranges::find(classes_, job.at("class").get<std::string>());
      needed[static_cast<std::size_t>(at - classes_.begin())] += needs(job.at("job").get<std::string>());
    }
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (reserved[c] <= needed[c] || unknown.contains("class " + classes_[c])) continue;
      verdict_.fault(
          fmt::format("{}: {} has {} Mb/s reserved, more than its jobs need", text_of(link), classes_[c], reserved[c]));
    }
    for (const auto& [lane, owner] : lanes_->owners(link)) {
      if (owner.reserved_mbps <= needs(owner.job) || unknown.contains(owner.job)) continue;
      verdict_.fault(fmt::format("{}: {} Mb/s of lane {} are reserved for {}, which needs {}", text_of(link),
                                 owner.reserved_mbps, lane, owner.job, needs(owner.job)));
    }
  }
}

void Check::lids(const Json& job, const Routes& routes) {
  const auto leads = [&](const Json& one, const char* name) {
    const auto port = one.at(name).get<std::string>();
    const auto lid = one.at(std::string(name) + "Lid").get<std::uint64_t>();
    const auto peer = network_.peer.find(port);
    if (peer == network_.peer.end()) return;  // said elsewhere
    const auto at = routes.port_of.find(switch_of(peer->second));
    const std::uint64_t mask = (1ULL << network_.end_port_lmc.at(port)) - 1;
    const bool is_there = at != routes.port_of.end() && at->second.port(lid) != 0 &&
                          fmt::format("{}/{}", switch_of(peer->second), at->second.port(lid)) == peer->second;
    if (!is_there || (lid & mask) != 0) verdict_.fault(fmt::format("{}: its first LID is not {}", port, lid));
  };
  for (const Json& one : job.value("ports", Json::array())) leads(one, "port");
  for (const Json& one : job.value("flows", Json::array())) {
    leads(one, "from");
    leads(one, "to");
  }
}

void Check::jobs_after(const std::string& link, const Routes& routes) {
  const std::string when = " after " + link + " failed";
  const Parts without = parts_of(network_, first_end(link));
  Loads loads;
  const Walker walker(cabling_, routes, network_.dead);
  lanes_->begin_routes();
  for (const Json& job : certificate_.at("jobs")) {
    if (survives(job, link, without)) add_load({job, walker, when}, loads);
  }
  within_reserved(loads, when);
}

void Check::add_load(const JobCheck& check, Loads& loads) {
  const auto at = std::ranges::find(classes_, check.job.at("class").get<std::string>());
  if (at == classes_.end()) throw std::runtime_error("the certificate does not list the class of a job");
  const auto permille = check.job.at("reservedPermille").get<std::int64_t>();
  const auto name = check.job.at("job").get<std::string>();
  const bool has_lane = check.job.contains("lane");
  for (const auto& [port, mbps] : check.job.at("promise") == "pattern" ? pattern_load(check) : hose_load(check)) {
    auto& load = loads[port];
    load.resize(classes_.size(), 0);
    const std::int64_t reserved = (mbps * permille + 999) / 1000;
    load[static_cast<std::size_t>(at - classes_.begin())] += reserved;
    auto& worst = worst_[name][port];
    worst = std::max(worst, reserved);
    if (has_lane) lanes_->use(name, link_at(port), reserved, check.when);
  }
}

void Check::within_reserved(const Loads& loads, const std::string& when) {
  std::vector<PortNumber> ports;  // in the order of their names
  for (const auto& [port, load] : loads) ports.push_back(port);
  std::ranges::sort(ports);
  for (const PortNumber port : ports) {
    const auto& load = loads.at(port);
    const DirectedLink link = link_at(port);
    const auto reserved = reserved_.find(link);
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      const std::int64_t has = reserved == reserved_.end() ? 0 : reserved->second[c];
      if (load[c] <= has) continue;
      verdict_.fault(
          fmt::format("{}{}: {} can carry {} Mb/s, {} are reserved", text_of(link), when, classes_[c], load[c], has));
    }
  }
}

std::set<PortName> Check::ports_of(const Json& job) const {
  std::set<PortName> ports;
  for (const Json& one : job.value("ports", Json::array())) ports.insert(one.at("port").get<std::string>());
  for (const Json& one : job.value("flows", Json::array())) {
    ports.insert(one.at("from").get<std::string>());
    ports.insert(one.at("to").get<std::string>());
  }
  return ports;
}

std::size_t Check::part(const PortName& port, const Parts& parts) const {
  const auto peer = network_.peer.find(port);
  if (peer == network_.peer.end()) return SIZE_MAX;
  const auto at = parts.find(switch_of(peer->second));
  return at == parts.end() ? SIZE_MAX : at->second;
}

void Check::damage(const Json& job) {
  std::map<std::size_t, std::size_t> live;  // by cabled part
  for (const PortName& port : ports_of(job)) {
    const auto name = job.at("job").get<std::string>() + ": ";
    if (part(port, cabled_) == SIZE_MAX) {
      verdict_.fault(name + port + " has no cable, so that its ranks are cut off");
    } else if (network_.dead.contains(port)) {
      verdict_.fault(name + "the cable of " + port + " is down, so that its ranks are cut off");
    } else if (live.try_emplace(part(port, cabled_), part(port, parts_)).first->second != part(port, parts_)) {
      verdict_.fault(name + "no live cables join " + port + " to its other ports");
    }
  }
}

bool Check::survives(const Json& job, const std::string& link, const Parts& without) const {
  if (!job.at("survivesLinkFailure").get<bool>()) return false;
  const auto own = parts_.find(switch_of(first_end(link)));
  std::set<std::size_t> left;
  for (const PortName& port : ports_of(job)) {
    if (own != parts_.end() && part(port, parts_) == own->second) left.insert(part(port, without));
  }
  return left.size() == 1;
}

std::vector<std::string> Check::survived_failures() const {
  std::vector<std::string> links;
  const auto survivor = [&](const Json& job) { return job.at("survivesLinkFailure").get<bool>(); };
  if (std::ranges::none_of(certificate_.at("jobs"), survivor)) return links;
  for (const std::string& link : switch_links(network_)) {
    const Parts without = parts_of(network_, first_end(link));
    if (std::ranges::any_of(certificate_.at("jobs"), [&](const Json& job) { return survives(job, link, without); })) {
      links.push_back(link);
    }
  }
  return links;
}

Check::JobLoad Check::pattern_load(const JobCheck& check) {
  JobLoad sum;
  std::unordered_map<PortNumber, double> spread;
  PortParts parts;
  for (const Json& flow : check.job.at("flows")) {
    const EndPort from = end_port(flow, "from"), to = end_port(flow, "to");
    if (const std::string how = spread_of(to); !how.empty()) {
      ++pairs;
      if (!SpreadWalk(network_, cabling_, check.walker, how).parts(from, to, parts)) not_arriving(check, from, to);
      for (const auto& [port, part] : parts)
        spread[port] += part * static_cast<double>(flow.at("mbps").get<std::int64_t>());
      continue;
    }
    route(check, from, to);
    for (const PortNumber port : path_) sum[port] += flow.at("mbps").get<std::int64_t>();
  }
  for (const auto& [port, mbps] : spread) sum[port] += whole_mbps(mbps);
  return sum;
}

Check::JobLoad Check::hose_load(const JobCheck& check) {
  std::vector<EndPort> ports;
  std::vector<std::size_t> parts;
  std::vector<std::string> how;
  std::map<std::pair<std::size_t, std::string>, std::vector<EndPort>> spread;
  for (const Json& one : check.job.at("ports")) {
    ports.push_back(end_port(one, "port"));
    ports.back().send = one.at("sendMbps").get<std::int64_t>();
    ports.back().receive = one.at("receiveMbps").get<std::int64_t>();
    parts.push_back(part(ports.back().name, cabled_));
    how.push_back(spread_of(ports.back()));
    if (!how.back().empty()) spread[{parts.back(), how.back()}].push_back(ports.back());
  }
  std::unordered_map<PortNumber, std::vector<std::pair<std::size_t, std::size_t>>> crossing;
  for (std::size_t s = 0; s < ports.size(); ++s) {
    for (std::size_t d = 0; d < ports.size(); ++d) {
      if (s == d || parts[s] != parts[d] || !how[s].empty() || ports[s].send == 0) continue;
      route(check, ports[s], ports[d]);
      for (const PortNumber port : path_) crossing[port].emplace_back(s, d);
    }
  }
  JobLoad largest;
  for (const auto& [port, senders] : crossing) {
    ++matchings;
    largest[port] = largest_load(ports, senders);
  }
  for (const auto& [at, of_part] : spread) add_spread_hose(check, at.second, of_part, largest);
  return largest;
}

void Check::add_spread_hose(const JobCheck& check, const std::string& how, const std::vector<EndPort>& ports,
                            JobLoad& loads) {
  SpreadWalk walk(network_, cabling_, check.walker, how);
  std::vector<std::pair<std::size_t, std::size_t>> lost;
  for (const auto& [port, mbps] : spread_bound(walk, cabling_, ports, lost)) {
    ++matchings;
    if (mbps > 0) loads[port] = mbps;
  }
  pairs += ports.size() * (ports.size() - 1);
  for (const auto& [s, d] : lost) not_arriving(check, ports[s], ports[d]);
}

std::string Check::spread_of(const EndPort& port) const {
  const auto peer = network_.peer.find(port.name);
  const auto subnet =
      peer == network_.peer.end() ? network_.subnet.end() : network_.subnet.find(switch_of(peer->second));
  const auto at = subnet == network_.subnet.end() ? spread_.end() : spread_.find(subnet->second);
  return at == spread_.end() ? std::string() : at->second;
}

DirectedLink Check::link_at(PortNumber port) const { return {cabling_.name(port), cabling_.name(cabling_.peer(port))}; }

void Check::route(const JobCheck& check, const EndPort& from, const EndPort& to) {
  ++pairs;
  if (from.number != kNoPort && check.walker.walk(from.number, to.number, to.lid, path_)) return;
  path_.clear();
  not_arriving(check, from, to);
}

void Check::not_arriving(const JobCheck& check, const EndPort& from, const EndPort& to) {
  verdict_.fault(check.job.at("job").get<std::string>() + check.when + ": packets from " + from.name + " to " +
                 to.name + " do not arrive");
}

EndPort Check::end_port(const Json& one, const char* name) {
  EndPort port{one.at(name).get<std::string>(), one.at(std::string(name) + "Lid").get<std::uint64_t>(), 0, 0, kNoPort};
  port.number = cabling_.find(port.name);
  const auto known = network_.end_port_lid.find(port.name);
  if (known == network_.end_port_lid.end()) {
    verdict_.fault(port.name + ": the fabric has no such end port");
  } else if (known->second != 0 && known->second != port.lid) {
    verdict_.fault(fmt::format("{}: has LID {} in the fabric", port.name, known->second));
  }
  return port;
}

}  // namespace railweave::verify
