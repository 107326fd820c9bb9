#include "services/verify/tables.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fmt/core.h>

namespace railweave::verify {
namespace {

constexpr const char* kHead = "railweave-tables 2";

class TablesReader {
 public:
  TablesReader(std::string path, Verdict& verdict) : path_(std::move(path)), verdict_(verdict) {}

  SubnetTables read() {
    std::ifstream file(path_);
    if (!file) throw std::runtime_error(path_ + ": cannot be read");
    std::string line;
    std::getline(file, line);
    std::size_t lines = 0;
    bool ended = false;
    while (std::getline(file, line)) {
      if (ended) throw std::runtime_error(path_ + ": something follows its end");
      std::istringstream words(line);
      std::string kind;
      words >> kind;
      if (kind == "end") {
        ended = true;
        if (std::to_string(lines) != line.substr(4)) {
          verdict_.fault(fmt::format("the tables are not whole: {} lines, their end says {}", lines, line.substr(4)));
        }
        continue;
      }
      ++lines;
      take(kind, words, line);
    }
    if (!ended) verdict_.fault("the tables are not whole: their end is missing");
    for (const auto& [guid, entries] : tables_.routes.port_of) {
      const auto said = entries_of_.find(guid);
      if (said == entries_of_.end()) {
        verdict_.fault("switch " + guid + ": has entries and no line of its own");
      } else if (said->second != entries.size()) {
        verdict_.fault(fmt::format("switch {}: its forwarding table is not whole, {} entries of {}", guid,
                                   entries.size(), said->second));
      }
    }
    tables_.routes.digest = entries_digest(tables_.routes);
    return std::move(tables_);
  }

 private:
  void take(const std::string& kind, std::istringstream& words, const std::string& line) {
    std::string name;
    words >> name;
    bool twice = false;
    if (kind == "lft") {
      std::uint64_t lid = 0;
      unsigned port = 0;
      words >> lid >> port;
      if (!words) throw std::runtime_error(path_ + ": '" + line + "' is no entry");
      twice = !tables_.routes.port_of[name].add(lid, port);
    } else if (kind == "switch") {
      std::size_t entries = 0;
      words >> entries;
      twice = !entries_of_.try_emplace(name, entries).second;
      tables_.routes.port_of[name];
    } else if (kind == "port") {
      PortFacts facts;
      std::int64_t width = 0;
      std::string speed;
      words >> facts.lid >> facts.lmc >> width >> speed >> facts.mtu_bytes >> facts.data_lanes >>
          facts.arbitration_entries;
      if (!words) throw std::runtime_error(path_ + ": '" + line + "' says nothing of a port");
      facts.rate_mbps = width * lane_mbps(speed);
      twice = tables_.ports[name].facts.has_value();
      tables_.ports[name].facts = facts;
    } else if (kind == "sl2vl") {
      unsigned in = 0;
      std::array<unsigned, 16> lanes{};
      words >> in;
      for (unsigned& lane : lanes) words >> lane;
      if (!words) throw std::runtime_error(path_ + ": '" + line + "' is no map of service levels");
      twice = !tables_.ports[name].lane_of.try_emplace(in, lanes).second;
    } else if (kind == "vlarb") {
      std::string part;
      words >> part;
      PortTables& port = tables_.ports[name];
      port.has_arbitration = true;
      auto& entries = part == "high" ? port.high : port.low;
      twice = !parts_.insert(name + part).second;
      char colon = 0;
      for (std::pair<std::int64_t, std::int64_t> entry; words >> entry.first >> colon >> entry.second;) {
        entries.push_back(entry);
      }
    } else if (kind == "pkeys") {
      twice = !parts_.insert(name + "keys").second;
      for (std::string key; words >> key;) {
        tables_.ports[name].pkeys.push_back(static_cast<std::uint16_t>(std::stoul(key, nullptr, 16)));
      }
    } else {
      throw std::runtime_error(path_ + ": '" + line + "' is unknown");
    }
    if (twice) verdict_.fault(kind + " of " + name + ": is in the tables twice");
  }

  const std::string path_;
  Verdict& verdict_;
  SubnetTables tables_;
  std::map<std::string, std::size_t> entries_of_;
  std::set<std::string> parts_;
};

}  // namespace

bool is_subnet_tables(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  return file && std::getline(file, line) && line == kHead;
}

SubnetTables read_subnet_tables(const std::string& path, Verdict& verdict) {
  return TablesReader(path, verdict).read();
}

void add_tables(SubnetTables& tables, SubnetTables&& more, Verdict& verdict) {
  for (auto& [guid, entries] : more.routes.port_of) {
    if (!tables.routes.port_of.try_emplace(guid, std::move(entries)).second) {
      verdict.fault("switch " + guid + ": is in the tables twice");
    }
  }
  for (auto& [port, of_port] : more.ports) {
    if (!tables.ports.try_emplace(port, std::move(of_port)).second) verdict.fault(port + ": is in the tables twice");
  }
  tables.routes.digest = entries_digest(tables.routes);
}

namespace {

using Json = nlohmann::json;

// What one port of a reserved link has to do.
class PortCheck {
 public:
  PortCheck(const Json& certificate, const Network& network, Verdict& verdict)
      : network_(network), verdict_(verdict), classes_(certificate.at("classes")) {
    for (const Json& link : certificate.at("links")) {
      for (const Json& owner : link.value("lanes", Json::array())) {
        jobs_with_lanes_[link.at("from").get<std::string>()].insert(owner.at("job").get<std::string>());
      }
    }
    for (const Json& job : certificate.at("jobs")) {
      std::vector<unsigned> levels = levels_in(job);
      if (job.contains("serviceLevels")) levels_of_job_[job.at("job").get<std::string>()] = levels;
      for (const Json& one : classes_) {
        if (!job.contains("lane") && one.at("name") == job.at("class")) levels = levels_in(one);
      }
      const auto send = [&](const Json& port) {
        const auto host = network.host.find(port.get<std::string>());
        if (host != network.host.end()) levels_of_host_[host->second].insert(levels.begin(), levels.end());
      };
      for (const Json& one : job.value("ports", Json::array())) send(one.at("port"));
      for (const Json& one : job.value("flows", Json::array())) send(one.at("from"));
    }
  }

  void check(const PortName& name, const Json& link, const PortTables& tables) {
    arbitration(name, link, tables);
    lanes(name, link, tables);
  }

 private:
  static std::vector<unsigned> levels_in(const Json& one) {
    return one.value("serviceLevels", std::vector<unsigned>());
  }

  void arbitration(const PortName& name, const Json& link, const PortTables& tables) {
    if (!tables.has_arbitration) return verdict_.fault(name + ": its arbitration was not read");
    if (!tables.high.empty()) {
      verdict_.fault(fmt::format("{}: lane {} is served before all others", name, tables.high.front().first));
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> said;
    for (const Json& turn : link.at("turns")) {
      if (turn.at(2) != 0) said.emplace_back(turn.at(1).get<std::int64_t>(), turn.at(2).get<std::int64_t>());
    }
    if (said == tables.low) return;
    for (std::size_t i = 0; i < std::max(said.size(), tables.low.size()); ++i) {
      const auto text = [&](const auto& list) {
        if (i >= list.size()) return std::string("nothing");
        return "lane " + std::to_string(list[i].first) + " with weight " + std::to_string(list[i].second);
      };
      if (i < said.size() && i < tables.low.size() && said[i] == tables.low[i]) continue;
      return verdict_.fault(fmt::format("{}: turn {} of its arbitration is of {}, the certificate says {}", name, i + 1,
                                        text(tables.low), text(said)));
    }
  }

  void lanes(const PortName& name, const Json& link, const PortTables& tables) {
    // 1. By the certificate: whose lane is which, and which levels lead there.
    std::map<std::int64_t, std::size_t> slot_of_lane;  // class; behind the classes owners
    for (const Json& turn : link.at("turns")) {
      slot_of_lane.try_emplace(turn.at(1).get<std::int64_t>(), turn.at(0).get<std::size_t>());
    }
    std::map<unsigned, std::pair<std::size_t, std::string>> slot_of_level;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      for (const unsigned level : levels_in(classes_[c])) {
        slot_of_level[level] = {c, classes_[c].at("name").get<std::string>()};
      }
    }
    for (const Json& owner : link.value("lanes", Json::array())) {
      const auto job = owner.at("job").get<std::string>();
      const auto levels = levels_of_job_.find(job);
      if (levels == levels_of_job_.end()) continue;
      for (const unsigned level : levels->second) {
        slot_of_level[level] = {classes_.size() + owner.at("lane").get<std::size_t>(), job};
      }
    }
    // 2. What the port does, from each port by which packets come.
    if (tables.lane_of.empty()) return verdict_.fault(name + ": its map of service levels was not read");
    if (network_.switches.contains(switch_of(name))) inputs(name, tables);
    for (const auto& [in, map] : tables.lane_of) {
      const std::string* host = host_behind(name, in);
      const auto peer = network_.peer.find(fmt::format("{}/{}", switch_of(name), in));
      const auto came_by = peer == network_.peer.end() ? jobs_with_lanes_.end() : jobs_with_lanes_.find(peer->second);
      const std::string where = fmt::format("{} from port {}: service level ", name, in);
      for (unsigned level = 0; level < map.size(); ++level) {
        const auto wanted = slot_of_level.find(level);
        const auto has = slot_of_lane.find(map[level]);
        const std::string leads = fmt::format("{}{}", where, level);
        if (wanted == slot_of_level.end()) {
          if (has != slot_of_lane.end() && has->second >= classes_.size()) {
            verdict_.fault(
                fmt::format("{} leads to lane {}, which is {}", leads, map[level], owner_of(link, has->second)));
          }
          continue;
        }
        const auto& [slot, whose] = wanted->second;
        if (map[level] == kDiscards && is_foreign(host, level)) continue;
        // A lane is closed to what comes from links where its owner has nothing; what it is open to is walked (leaks.h).
        const bool from_owner = in == 0 || peer == network_.peer.end() ||
                                (came_by != jobs_with_lanes_.end() && came_by->second.contains(whose));
        if (map[level] == kDiscards && slot >= classes_.size() && !from_owner) continue;
        if (has != slot_of_lane.end() && has->second == slot) continue;
        verdict_.fault(fmt::format("{} of {} leads to lane {}, which is {}", leads, whose, map[level],
                                   has == slot_of_lane.end() ? "not its own" : owner_of(link, has->second)));
      }
    }
  }

  // Where packets come from an adapter; null: from another switch, or it is itself the sender.
  [[nodiscard]] const std::string* host_behind(const PortName& out, unsigned in) const {
    const auto peer = network_.peer.find(fmt::format("{}/{}", switch_of(out), in));
    if (peer == network_.peer.end() || !network_.switches.contains(switch_of(out))) return nullptr;
    const auto host = network_.host.find(peer->second);
    return host == network_.host.end() ? nullptr : &host->second;
  }
  // Whether no job with a guarantee sends packets of this level from the host.
  [[nodiscard]] bool is_foreign(const std::string* host, unsigned level) const {
    if (host == nullptr) return false;
    const auto levels = levels_of_host_.find(*host);
    return levels == levels_of_host_.end() || !levels->second.contains(level);
  }

  // Every cabled port of the switch has a row.
  void inputs(const PortName& name, const PortTables& tables) {
    const std::string guid = switch_of(name);
    for (auto at = network_.peer.lower_bound(guid + "/"); at != network_.peer.end() && switch_of(at->first) == guid;
         ++at) {
      if (network_.dead.contains(at->first) || tables.lane_of.contains(number_of(at->first))) continue;
      verdict_.fault(fmt::format("{} from port {}: its map of service levels is missing", name, number_of(at->first)));
    }
  }

  std::string owner_of(const Json& link, std::size_t slot) const {
    if (slot < classes_.size()) return "that of class " + classes_[slot].at("name").get<std::string>();
    for (const Json& owner : link.value("lanes", Json::array())) {
      if (owner.at("lane").get<std::size_t>() + classes_.size() == slot)
        return "that of " + owner.at("job").get<std::string>();
    }
    return "a job's own";
  }

  static constexpr unsigned kDiscards = 15;

  const Network& network_;
  Verdict& verdict_;
  const Json& classes_;
  std::map<std::string, std::set<unsigned>> levels_of_host_;
  std::map<std::string, std::vector<unsigned>> levels_of_job_;
  std::map<PortName, std::set<std::string>> jobs_with_lanes_;  // on the links that leave by the port
};

}  // namespace

void check_lanes(const SubnetTables& tables, const Network& network, const Json& certificate, Verdict& verdict) {
  PortCheck check(certificate, network, verdict);
  for (const Json& link : certificate.at("links")) {
    const auto port = link.at("from").get<std::string>();
    if (!network.infiniband.contains(port) || !link.contains("turns")) continue;
    const auto at = tables.ports.find(port);
    if (at != tables.ports.end()) check.check(port, link, at->second);  // else said by check_devices()
  }
}

}  // namespace railweave::verify
