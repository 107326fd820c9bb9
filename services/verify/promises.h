// What was promised, from outside the certificate: contracts, classes and links that are down as the REST API answers
// them, and jobs with their ranks. Compared with what the certificate says. Used by main.cc. Throws std::exception if a
// file is not well formed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "services/verify/check.h"
#include "services/verify/journal.h"
#include "services/verify/network.h"
#include "services/verify/pattern.h"

namespace railweave::verify {

// What a contract promises a running job.
struct Promise {
  std::string job, tenant, qos_class;
  bool pattern = false;
  bool survives = false;       // by the contract
  bool covered = false;        // and the service says that it is reserved at present
  bool at_risk = false;        // the service says that it does not hold
  bool as_cabled = false;      // what is reserved is for failures of the fabric as it is now
  bool lane = false;           // of its own, by the contract, as some of its ports are InfiniBand's
  nlohmann::json lane_number;  // that the service gave it
  bool in_class = false;       // isolated inside its class by agents on the nodes, by the contract
  bool on_network = true;      // false: all its ranks are in one host or NVLink domain, so that a pattern needs nothing
  std::int64_t rate_mbps = 0, reserved_permille = 1000;
  std::set<PortName> ports;
  std::map<PortName, std::int64_t> receiving;  // Mb/s, of ports of roles that it sends to, by its own request
  std::optional<PatternFlows> flows;           // of a pattern; none: they cannot be computed from the files
};

class Promises {
 public:
  // Outside is complete. Faults for jobs whose ranks have no port, or ports that are not their hosts'.
  Promises(const Outside& outside, const Network& network, Verdict& verdict);

  // Every promise that holds is in the certificate with these terms, and nothing else is.
  void compare(const nlohmann::json& certificate, Verdict& verdict) const;
  [[nodiscard]] std::size_t at_risk() const;
  // What no table can show: jobs that are isolated inside their classes by the word of agents on their nodes; by class.
  [[nodiscard]] std::map<std::string, std::size_t> by_agents() const;
  // The jobs whose ranks send by an adapter port.
  [[nodiscard]] std::map<PortName, std::set<std::string>> jobs_by_port() const;
  // Jobs whose reservations for failures follow from the fabric as it is now.
  [[nodiscard]] std::set<std::string> as_cabled() const;
  // Jobs whose contract survives failures, but whose reservation for them is used up.
  [[nodiscard]] std::vector<std::string> not_covered() const;
  // Jobs that are promised their pattern, whose flows only their sums were compared of.
  [[nodiscard]] std::vector<std::string> not_computed() const;

 private:
  using Json = nlohmann::json;
  void read_job(const Json& job, const Network& network, Verdict& verdict);
  // To which ports of other roles the promise reaches: those that cables join to some of its own.
  void read_receivers(const Json& spec, const Network& network, Promise& promise) const;
  void compare_job(const Promise& promise, const Json& job, Verdict& verdict) const;
  void compare_flows(const Promise& promise, const Json& job, Verdict& verdict) const;

  Parts cabled_;                           // by all cables, up or not
  std::map<std::string, Json> contracts_;  // by tenant
  Json classes_;
  std::set<std::string> links_down_;
  std::optional<std::map<std::string, std::string>> spread_;  // by subnet, those that are not single; none: not given
  std::map<std::string, Promise> promises_;                   // by job
  std::map<std::string, std::set<PortName>> ports_of_;        // by placed job, guaranteed or not
};

}  // namespace railweave::verify
