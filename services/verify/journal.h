// The journal's export (journal.md), replayed without the project's code: contracts, classes, links that are down, and placed
// jobs with their ranks and ports. Used by main.cc. Throws std::exception if the file is not well formed.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "services/verify/devices.h"
#include "services/verify/verdict.h"

namespace railweave::verify {

// What was promised, in the forms of the REST API.
struct Outside {
  nlohmann::json contracts, classes, jobs, links_down, subnets;  // lists; null: not given
  std::map<std::string, std::int64_t> seen_mbps = {};            // by link: less than its rate, as the journal has it
  [[nodiscard]] bool complete() const {
    return !contracts.is_null() && !classes.is_null() && !jobs.is_null() && !links_down.is_null();
  }
};

class Journal {
 public:
  // Replays records up to `seq`. Faults: records that are missing or come later and change what is promised, an end that
  // does not fit what is before it.
  Journal(const std::string& path, std::uint64_t seq, Verdict& verdict);

  [[nodiscard]] Outside outside() const;
  // Keys by tenant, of contracts.
  [[nodiscard]] const std::map<std::string, std::uint16_t>& pkeys() const { return pkeys_; }
  // The tenants with placed jobs on each node, with a contract or without.
  [[nodiscard]] std::map<std::string, std::set<std::string>> tenants_by_node() const;
  // What ports of live subnets reported last.
  [[nodiscard]] PortLimits limits() const;

 private:
  using Json = nlohmann::json;
  void take_snapshot(const Json& state);
  void take_record(const Json& record);
  void take_job(const std::string& id, const Json& data);
  void take_guarantee(const std::string& id, const Json& guarantee);
  void take_limits(const Json& limits);

  std::map<std::string, std::string> spread_;  // by subnet
  std::map<std::string, Json> contracts_;      // by tenant, in the form of the REST API
  std::map<std::string, std::uint16_t> pkeys_;
  Json classes_;
  std::map<std::string, Json> jobs_;               // placed ones, by id
  std::map<std::string, Json> guarantees_;         // of them
  std::map<std::string, std::vector<Json>> nics_;  // by node and GPU
  std::set<std::string> links_down_;
  std::map<std::string, std::int64_t> seen_mbps_;  // by link, where it runs at another rate than accepted
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> limits_;  // by subnet: arbitration entries, MTU
  std::set<std::string> drains_;                                         // links and switches
  bool may_drain_ = false;                                               // begins with a snapshot, which has none
  std::uint64_t last_seq_ = 0;
};

}  // namespace railweave::verify
