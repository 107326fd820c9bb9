#include "services/verify/leaks.h"

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace railweave::verify {
namespace {

using Json = nlohmann::json;

constexpr unsigned kDiscards = 15, kLevels = 16, kMaxHops = 64;

class LeakWalk {
 public:
  LeakWalk(const SubnetTables& tables, const Network& network, const Json& certificate, const JobPorts& jobs,
           Verdict& verdict)
      : tables_(tables), network_(network), jobs_(jobs), verdict_(verdict) {
    const std::size_t classes = certificate.at("classes").size();
    for (const Json& link : certificate.at("links")) {
      const auto out = link.at("from").get<std::string>();
      for (const Json& owner : link.value("lanes", Json::array())) {
        const auto slot = classes + owner.at("lane").get<std::size_t>();
        on_link_[out].insert(owner.at("job").get<std::string>());
        for (const Json& turn : link.value("turns", Json::array())) {
          if (turn.at(0) == slot) owner_[{out, turn.at(1).get<unsigned>()}] = owner.at("job").get<std::string>();
        }
      }
    }
  }

  // Places where a lane is entered from elsewhere than its owner's links and adapters.
  std::size_t entrances() {
    std::size_t count = 0;
    for (const auto& [out, tables] : tables_.ports) {
      if (!on_link_.contains(out) || !network_.switches.contains(switch_of(out))) continue;
      for (const auto& [in, map] : tables.lane_of) {
        const auto before = network_.peer.find(fmt::format("{}/{}", switch_of(out), in));
        if (before == network_.peer.end()) continue;
        for (unsigned level = 0; level < kLevels; ++level) {
          const auto owner = owner_.find({out, map[level]});
          if (owner == owner_.end()) continue;
          levels_.insert(level);
          if (!is_on(before->second, owner->second)) ++count;
        }
      }
    }
    return count;
  }

  void walk() {
    for (const auto& [port, host] : network_.host) {
      const auto peer = network_.peer.find(port);
      if (peer == network_.peer.end() || !network_.infiniband.contains(port) || network_.dead.contains(port)) continue;
      const auto routes = tables_.routes.port_of.find(switch_of(peer->second));
      if (routes == tables_.routes.port_of.end()) continue;  // said elsewhere
      const auto at = jobs_.find(port);
      from_ = at == jobs_.end() ? &none_ : &at->second;
      from_port_ = port;
      from_host_ = host;
      for (const unsigned level : levels_) {
        std::vector<std::uint64_t> lids;
        routes->second.each([&](std::uint64_t lid, unsigned) { lids.push_back(lid); });
        forward(peer->second, level, lids, 0);
      }
    }
  }

 private:
  // Whether the job has its lane on the link that leaves by the port, or the port is an adapter of its ranks.
  [[nodiscard]] bool is_on(const PortName& port, const std::string& job) const {
    const auto here = on_link_.find(port);
    if (here != on_link_.end() && here->second.contains(job)) return true;
    const auto ranks = jobs_.find(port);
    return ranks != jobs_.end() && ranks->second.contains(job);
  }

  // Packets to these LIDs that come by a port of a switch.
  void forward(const PortName& in, unsigned level, const std::vector<std::uint64_t>& lids, unsigned hops) {
    const auto routes = tables_.routes.port_of.find(switch_of(in));
    if (routes == tables_.routes.port_of.end() || hops == kMaxHops) return;
    std::map<unsigned, std::vector<std::uint64_t>> by_out;
    for (const std::uint64_t lid : lids) {
      if (const unsigned out = routes->second.port(lid); out != 0) by_out[out].push_back(lid);
    }
    for (auto& [number, rest] : by_out) {
      const PortName out = fmt::format("{}/{}", switch_of(in), number);
      const auto tables = tables_.ports.find(out);
      const auto peer = network_.peer.find(out);
      if (tables == tables_.ports.end() || peer == network_.peer.end() || network_.dead.contains(out)) continue;
      const auto map = tables->second.lane_of.find(number_of(in));
      if (map == tables->second.lane_of.end() || map->second[level] == kDiscards) continue;
      const auto owner = owner_.find({out, map->second[level]});
      if (owner != owner_.end() && !from_->contains(owner->second)) {
        leak(owner->second, out, level);
        continue;
      }
      if (!network_.switches.contains(switch_of(peer->second))) continue;
      // Adapters of the same jobs at a switch send alike from the second link on.
      if (hops == 0 && !seen_.emplace(out, level, *from_).second) continue;
      forward(peer->second, level, rest, hops + 1);
    }
  }

  void leak(const std::string& job, const PortName& out, unsigned level) {
    if (!said_.emplace(job, from_port_).second) return;
    verdict_.fault(
        fmt::format("{} of {} gets onto the lane of {}, which does not run there, at {} with service level {}",
                    from_port_, from_host_.empty() ? "no host" : from_host_, job, out, level));
  }

  const SubnetTables& tables_;
  const Network& network_;
  const JobPorts& jobs_;
  Verdict& verdict_;
  std::map<std::pair<PortName, unsigned>, std::string> owner_;  // by port and lane
  std::map<PortName, std::set<std::string>> on_link_;           // jobs with lanes there
  std::set<unsigned> levels_;                                   // that lead to a lane of a job's own somewhere
  const std::set<std::string> none_;
  const std::set<std::string>* from_ = nullptr;  // jobs at the adapter that packets are from
  PortName from_port_;
  std::string from_host_;
  std::set<std::tuple<PortName, unsigned, std::set<std::string>>> seen_;
  std::set<std::pair<std::string, PortName>> said_;
};

}  // namespace

JobPorts job_ports(const Json& certificate) {
  JobPorts ports;
  for (const Json& job : certificate.at("jobs")) {
    const auto name = job.at("job").get<std::string>();
    for (const Json& one : job.value("ports", Json::array())) ports[one.at("port").get<std::string>()].insert(name);
    for (const Json& one : job.value("flows", Json::array())) {
      ports[one.at("from").get<std::string>()].insert(name);
      ports[one.at("to").get<std::string>()].insert(name);
    }
  }
  return ports;
}

std::size_t check_leaks(const SubnetTables& tables, const Network& network, const Json& certificate,
                        const JobPorts& jobs, Verdict& verdict) {
  LeakWalk walk(tables, network, certificate, jobs, verdict);
  const std::size_t entrances = walk.entrances();
  if (entrances > 0) walk.walk();
  return entrances;
}

std::size_t ports_let_in(const SubnetTables& tables, const Network& network, const Json& certificate,
                         const std::string& qos_class, const JobPorts& jobs) {
  std::vector<unsigned> levels;
  for (const Json& one : certificate.at("classes")) {
    if (one.at("name") == qos_class) levels = one.value("serviceLevels", levels);
  }
  std::set<std::string> in_class;
  for (const Json& job : certificate.at("jobs")) {
    if (job.at("class") == qos_class) in_class.insert(job.at("job").get<std::string>());
  }
  std::set<PortName> letting;
  for (const auto& [out, of_port] : tables.ports) {
    for (const auto& [in, map] : of_port.lane_of) {
      const auto from = network.peer.find(fmt::format("{}/{}", switch_of(out), in));
      if (from == network.peer.end() || !network.host.contains(from->second)) continue;
      const auto here = jobs.find(from->second);
      bool has_job = false;
      if (here != jobs.end()) {
        for (const std::string& job : here->second) has_job = has_job || in_class.contains(job);
      }
      for (const unsigned level : levels) {
        if (!has_job && map[level] != kDiscards) letting.insert(from->second);
      }
    }
  }
  return letting.size();
}

}  // namespace railweave::verify
