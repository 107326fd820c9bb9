// Checks a certificate (certificate.md) by brute force: every pair of ports of every job is walked hop by hop. Used by
// main.cc. Throws std::exception if the certificate is not well formed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "services/verify/hose.h"
#include "services/verify/lanes.h"
#include "services/verify/network.h"
#include "services/verify/spread.h"
#include "services/verify/verdict.h"
#include "services/verify/walk.h"

namespace railweave::verify {

class Check {
 public:
  // Borrows all three. The network may change between calls of jobs(). packet_units: of the largest packet, as devices or the
  // journal say it.
  Check(const Network& network, const nlohmann::json& certificate, std::int64_t packet_units, Verdict& verdict);

  // What is reserved against the links' capacities and the classes' shares and weights.
  void links();
  // The worst traffic of each job on these routes against what is reserved; call it before the following.
  void jobs(const Routes& routes);
  // The same after a link, "<port>--<port>", failed, of the jobs that survive that failure.
  void jobs_after(const std::string& link, const Routes& routes);
  // What is reserved is no more than these loads need, of jobs in `exact`, after all failures that they survive.
  void nothing_beside(const std::set<std::string>& exact);
  // The failures that the certificate claims to survive: of every link between switches that joins ports of a job that
  // survives failures to others of it, unless the job falls apart without the link.
  [[nodiscard]] std::vector<std::string> survived_failures() const;

  std::size_t pairs = 0, matchings = 0;  // walked and computed so far

 private:
  using Json = nlohmann::json;
  using Loads = std::unordered_map<PortNumber, std::vector<std::int64_t>>;  // by port that sends: Mb/s by class
  using JobLoad = std::unordered_map<PortNumber, std::int64_t>;

  // One job on one set of routes.
  struct JobCheck {
    const Json& job;
    const Walker& walker;
    const std::string& when;
  };

  void link(const Json& link);
  // What the port promises to a class beside the owners of lanes, and to each of them.
  void promises(const Json& link, const DirectedLink& directed, std::int64_t capacity);
  void add_load(const JobCheck& check, Loads& loads);
  void within_reserved(const Loads& loads, const std::string& when);
  [[nodiscard]] bool survives(const Json& job, const std::string& link, const Parts& without) const;
  [[nodiscard]] std::set<PortName> ports_of(const Json& job) const;
  // What each class is served by: the port's arbitration table, or its weights. Owners of lanes follow the classes.
  void turns(const Json& link, const std::string& name);
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> promise(const Json& link, std::size_t of_class) const;
  [[nodiscard]] JobLoad pattern_load(const JobCheck& check);
  [[nodiscard]] JobLoad hose_load(const JobCheck& check);
  // The same of ports in a subnet that spreads its packets.
  void add_spread_hose(const JobCheck& check, const std::string& how, const std::vector<EndPort>& ports,
                       JobLoad& loads);
  // How the subnet behind the port spreads packets, by the certificate; "": it does not.
  [[nodiscard]] std::string spread_of(const EndPort& port) const;
  void not_arriving(const JobCheck& check, const EndPort& from, const EndPort& to);
  // Into path_; empty, with a fault, if packets do not arrive.
  void route(const JobCheck& check, const EndPort& from, const EndPort& to);
  [[nodiscard]] DirectedLink link_at(PortNumber port) const;
  [[nodiscard]] EndPort end_port(const Json& one, const char* name);
  // The LIDs of a job's ports lead to them.
  void lids(const Json& job, const Routes& routes);
  // A cable is missing or down, or live cables no longer join ports that cables join.
  void damage(const Json& job);
  [[nodiscard]] std::size_t part(const PortName& port, const Parts& parts) const;

  const Network& network_;
  const Cabling cabling_;
  const Json& certificate_;
  Verdict& verdict_;
  std::vector<PortNumber> path_;  // of the last route
  std::vector<std::string> classes_;
  std::map<std::string, std::string> spread_;                   // by subnet: those that are not single
  std::map<DirectedLink, std::vector<std::int64_t>> reserved_;  // Mb/s by class
  const std::int64_t packet_units_;
  std::map<std::string, JobLoad> worst_;  // by job: the most that it needs reserved, on the routes so far
  std::unique_ptr<Lanes> lanes_;          // not null
  Parts cabled_, parts_;                  // by all cables, by live ones
};

}  // namespace railweave::verify
