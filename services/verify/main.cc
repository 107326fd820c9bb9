// railweave-verify FABRIC FDBS CERTIFICATE [--after LINK=FDBS]...: checks a certificate of guarantees by brute force.
// What it checks is in certificate.md.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <functional>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "services/verify/network.h"

namespace {

using namespace railweave::verify;  // NOLINT
using Json = nlohmann::json;

struct Verdict {
  std::size_t faults = 0;
  void fault(const std::string& text) {
    if (++faults <= 50) std::printf("FAULT %s\n", text.c_str());
  }
};

using Loads = std::map<Direction, std::vector<std::int64_t>>;  // by class

struct EndPort {
  PortName name;
  std::uint64_t lid;
  std::int64_t send, receive;
};

// The most that the pairs can send at once: shortest augmenting paths, port by port.
std::int64_t largest(const std::vector<EndPort>& ports, const std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
  const std::size_t n = ports.size(), from = 2 * n, to = 2 * n + 1;
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> left;
  std::vector<std::vector<std::size_t>> beside(2 * n + 2);
  const auto edge = [&](std::size_t a, std::size_t b, std::int64_t limit) {
    left[{a, b}] = limit;
    left.try_emplace({b, a}, 0);
    beside[a].push_back(b);
    beside[b].push_back(a);
  };
  for (std::size_t i = 0; i < n; ++i) edge(from, i, ports[i].send), edge(n + i, to, ports[i].receive);
  for (const auto& [s, d] : pairs) edge(s, n + d, std::min(ports[s].send, ports[d].receive));
  for (std::int64_t total = 0;;) {
    std::vector<std::size_t> before(2 * n + 2, SIZE_MAX);
    std::deque<std::size_t> open{from};
    before[from] = from;
    while (!open.empty() && before[to] == SIZE_MAX) {
      const std::size_t at = open.front();
      open.pop_front();
      for (const std::size_t next : beside[at]) {
        if (before[next] != SIZE_MAX || left[{at, next}] <= 0) continue;
        before[next] = at;
        open.push_back(next);
      }
    }
    if (before[to] == SIZE_MAX) return total;
    std::int64_t most = INT64_MAX;
    for (std::size_t at = to; at != from; at = before[at]) most = std::min(most, left[{before[at], at}]);
    for (std::size_t at = to; at != from; at = before[at]) {
      left[{before[at], at}] -= most;
      left[{at, before[at]}] += most;
    }
    total += most;
  }
}

// Whether cables that are up join the two, whichever way routes go.
std::map<std::string, std::size_t> parts_of(const Network& network) {
  std::map<std::string, std::string> root;
  const std::function<std::string(const std::string&)> find = [&](const std::string& guid) {
    auto at = root.try_emplace(guid, guid).first;
    return at->second == guid ? guid : at->second = find(at->second);
  };
  for (const auto& [a, b] : network.peer) {
    const bool ends = network.end_port_lid.contains(a) || network.end_port_lid.contains(b);
    if (ends || network.dead.contains(a)) continue;
    root[find(a.substr(0, a.find('/')))] = find(b.substr(0, b.find('/')));
  }
  std::map<std::string, std::size_t> number, part;
  for (const std::string& guid : network.switches) {
    part[guid] = number.try_emplace(find(guid), number.size()).first->second;
  }
  return part;
}

class Check {
 public:
  Check(const Network& network, const Json& certificate, Verdict& verdict)
      : network_(network), certificate_(certificate), verdict_(verdict) {
    for (const Json& one : certificate.at("classes")) classes_.push_back(one.at("name").get<std::string>());
    for (const Json& link : certificate.at("links")) {
      const Direction way{link.at("from").get<std::string>(), link.at("to").get<std::string>()};
      reserved_[way] = link.at("reservedMbps").get<std::vector<std::int64_t>>();
      if (reserved_[way].size() != classes_.size()) throw std::runtime_error("a link lists other than all classes");
    }
  }

  // What is reserved against what links have and what classes are due.
  void links() {
    const auto usable = certificate_.at("usablePermille").get<std::int64_t>();
    for (const Json& link : certificate_.at("links")) {
      const Direction way{link.at("from").get<std::string>(), link.at("to").get<std::string>()};
      const std::string name = way.first + "->" + way.second;
      const auto peer = network_.peer.find(way.first);
      if (peer == network_.peer.end() || peer->second != way.second) {
        verdict_.fault(name + ": the fabric has no such cable");
        continue;
      }
      const auto capacity = link.at("capacityMbps").get<std::int64_t>();
      if (capacity > network_.rate_mbps.at(way.first)) verdict_.fault(name + ": claims more than the link's rate");
      if (network_.dead.contains(way.first)) verdict_.fault(name + ": is down and has something reserved");
      const auto weights = link.at("weights").get<std::vector<std::int64_t>>();
      std::int64_t all = 0, sum = 0;
      for (const std::int64_t weight : weights) all += weight;
      for (std::size_t c = 0; c < classes_.size(); ++c) {
        const std::int64_t reserved = reserved_[way][c];
        const auto share = certificate_.at("classes").at(c).at("sharePermille").get<std::int64_t>();
        sum += reserved;
        if (reserved * 1'000'000 > capacity * usable * share) {
          verdict_.fault(name + ": " + classes_[c] + " has " + std::to_string(reserved) +
                         " Mb/s reserved, over its share");
        }
        if (reserved > 0 && weights.at(c) * capacity < reserved * all) {
          verdict_.fault(name + ": the weight of " + classes_[c] + " gives less than is reserved");
        }
      }
      if (sum > capacity) verdict_.fault(name + ": more is reserved than there is");
    }
  }

  void jobs(const Routes& routes, bool after_failure, const std::string& when) {
    parts_ = parts_of(network_);
    Loads loads;
    for (const Json& job : certificate_.at("jobs")) {
      if (after_failure && !job.at("survivesLinkFailure").get<bool>()) continue;
      const auto at = std::ranges::find(classes_, job.at("class").get<std::string>());
      if (at == classes_.end()) throw std::runtime_error("a job's class is not listed");
      add_job(job, static_cast<std::size_t>(at - classes_.begin()), routes, when, loads);
    }
    for (const auto& [way, load] : loads) {
      const auto reserved = reserved_.find(way);
      for (std::size_t c = 0; c < classes_.size(); ++c) {
        const std::int64_t has = reserved == reserved_.end() ? 0 : reserved->second[c];
        if (load[c] > has) {
          verdict_.fault(way.first + "->" + way.second + when + ": " + classes_[c] + " can carry " +
                         std::to_string(load[c]) + " Mb/s, " + std::to_string(has) + " are reserved");
        }
      }
    }
  }
  std::size_t pairs = 0, matchings = 0;

 private:
  EndPort end_port(const Json& one, const char* name) {
    EndPort port{one.at(name).get<std::string>(), one.at(std::string(name) + "Lid").get<std::uint64_t>(), 0, 0};
    const auto known = network_.end_port_lid.find(port.name);
    if (known == network_.end_port_lid.end()) {
      verdict_.fault(port.name + ": the fabric has no such end port");
    } else if (known->second != 0 && known->second != port.lid) {
      verdict_.fault(port.name + ": has LID " + std::to_string(known->second) + " in the fabric");
    }
    return port;
  }

  bool joined(const EndPort& a, const EndPort& b) {
    const auto part = [&](const EndPort& port) {
      const auto peer = network_.peer.find(port.name);
      const auto at = peer == network_.peer.end() ? parts_.end() : parts_.find(peer->second.substr(0, 16));
      return at == parts_.end() ? SIZE_MAX : at->second;
    };
    return part(a) == part(b);
  }

  void add_job(const Json& job, std::size_t c, const Routes& routes, const std::string& when, Loads& loads) {
    const auto permille = job.at("reservedPermille").get<std::int64_t>();
    const auto add = [&](const Direction& way, std::int64_t mbps) {
      auto& load = loads[way];
      load.resize(classes_.size(), 0);
      load[c] += (mbps * permille + 999) / 1000;
    };
    const auto lost = [&](const EndPort& from, const EndPort& to) {
      verdict_.fault(job.at("job").get<std::string>() + when + ": packets from " + from.name + " to " + to.name +
                     " do not arrive");
    };
    if (job.at("promise") == "pattern") {
      std::map<Direction, std::int64_t> sum;
      for (const Json& flow : job.at("flows")) {
        const EndPort from = end_port(flow, "from"), to = end_port(flow, "to");
        ++pairs;
        const auto path = walk(network_, routes, from.name, to.name, to.lid);
        if (!path) {
          lost(from, to);
          continue;
        }
        for (const Direction& way : *path) sum[way] += flow.at("mbps").get<std::int64_t>();
      }
      for (const auto& [way, mbps] : sum) add(way, mbps);
      return;
    }
    std::vector<EndPort> ports;
    for (const Json& one : job.at("ports")) {
      ports.push_back(end_port(one, "port"));
      ports.back().send = one.at("sendMbps").get<std::int64_t>();
      ports.back().receive = one.at("receiveMbps").get<std::int64_t>();
    }
    std::map<Direction, std::vector<std::pair<std::size_t, std::size_t>>> crossing;
    for (std::size_t s = 0; s < ports.size(); ++s) {
      for (std::size_t d = 0; d < ports.size(); ++d) {
        if (s == d || !joined(ports[s], ports[d])) continue;
        ++pairs;
        const auto path = walk(network_, routes, ports[s].name, ports[d].name, ports[d].lid);
        if (!path) {
          lost(ports[s], ports[d]);
          continue;
        }
        for (const Direction& way : *path) crossing[way].emplace_back(s, d);
      }
    }
    for (const auto& [way, over] : crossing) {
      ++matchings;
      add(way, largest(ports, over));
    }
  }

  const Network& network_;
  const Json& certificate_;
  Verdict& verdict_;
  std::vector<std::string> classes_;
  std::map<Direction, std::vector<std::int64_t>> reserved_;
  std::map<std::string, std::size_t> parts_;
};

void take_down(Network& network, const std::string& link) {
  const auto cut = link.find("--");
  if (cut == std::string::npos) throw std::runtime_error(link + ": is no link");
  network.dead.insert(link.substr(0, cut));
  network.dead.insert(link.substr(cut + 2));
}

int run(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  std::vector<std::pair<std::string, std::string>> failures;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] != "--after") {
      files.push_back(arguments[i]);
      continue;
    }
    const std::string pair = i + 1 < arguments.size() ? arguments[++i] : "";
    const auto cut = pair.find('=');
    if (cut == std::string::npos) throw std::runtime_error("--after takes LINK=FDBS");
    failures.emplace_back(pair.substr(0, cut), pair.substr(cut + 1));
  }
  if (files.size() != 3)
    throw std::runtime_error("usage: railweave-verify FABRIC FDBS CERTIFICATE [--after LINK=FDBS]...");
  Network network = read_network(files[0]);
  const Routes routes = read_routes(files[1]);
  const Json certificate = Json::parse(file_text(files[2]));
  if (certificate.value("railweave", "") != "certificate" || certificate.value("version", 0) != 1) {
    throw std::runtime_error(files[2] + ": is no certificate of version 1");
  }
  Verdict verdict;
  if (certificate.at("routes").at("fnv1a64") != routes.digest) {
    verdict.fault("the certificate is of other routes: " + certificate.at("routes").at("fnv1a64").get<std::string>() +
                  ", these are " + routes.digest);
  }
  for (const Json& link : certificate.at("linksDown")) take_down(network, link.get<std::string>());
  Check check(network, certificate, verdict);
  check.links();
  check.jobs(routes, false, "");
  for (const auto& [link, path] : failures) {
    const auto dead = network.dead;
    take_down(network, link);
    check.jobs(read_routes(path), true, " after " + link + " failed");
    network.dead = dead;
  }
  std::printf("%zu jobs, %zu links, %zu pairs walked, %zu largest matchings, %zu failures checked\n",
              certificate.at("jobs").size(), certificate.at("links").size(), check.pairs, check.matchings,
              failures.size());
  std::printf(verdict.faults == 0 ? "HOLDS\n" : "DOES NOT HOLD: %zu faults\n", verdict.faults);
  return verdict.faults == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "railweave-verify: %s\n", error.what());
    return 2;
  }
}
