#include "services/verify/journal.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <stdexcept>

#include <fmt/core.h>

#include "services/verify/signature.h"

namespace railweave::verify {
namespace {

using Json = nlohmann::json;

// Those of a service that was never told others.
Json usual_classes() {
  Json classes = Json::array();
  const auto add = [&](const char* name, int share, const char* bound) {
    classes.push_back({{"name", name}, {"sharePermille", share}, {"bound", bound}});
  };
  add("latency", 175, "latency");
  add("management", 50, "latency");
  add("all-reduce", 350, "bandwidth");
  add("all-to-all", 225, "bandwidth");
  add("storage", 115, "bandwidth");
  add("best-effort", 50, "bandwidth");
  return classes;
}

Json contract_of(const Json& kept) {
  return {{"id", kept.at("tenant")},
          {"guaranteedGbps", kept.at("guaranteedMbps").get<double>() / 1000},
          {"basis", kept.at("basis")},
          {"model", kept.at("model")},
          {"surviveLinkFailure", kept.at("surviveLinkFailure")},
          {"classes", kept.at("classes")},
          {"reservedPermille", kept.at("reservedPermille")},
          {"isolation", kept.value("isolation", std::string("planned"))}};
}

std::string job_name(const Json& job) {
  std::string digits = std::to_string(job.at("number").get<std::uint64_t>());
  if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
  return "job-" + digits;
}

// Kinds of records after which a certificate of before is another one.
bool changes_promises(const std::string& kind) {
  static constexpr std::array<const char*, 13> kinds{
      "topology.accepted", "contract.put",     "contract.removed", "qosClasses.put",   "job.placed",
      "job.moved",         "job.ended",        "job.evicted",      "job.offerExpired", "link.down",
      "link.up",           "subnet.spreadSet", "qos.limits"};
  return kind.starts_with("guarantee.") || kind == "link.changed" ||
         std::ranges::any_of(kinds, [&](const char* one) { return kind == one; });
}

}  // namespace

Journal::Journal(const std::string& path, std::uint64_t seq, Verdict& verdict) : classes_(usual_classes()) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  std::string line;
  if (!std::getline(file, line)) throw std::runtime_error(path + ": is empty");
  const Json head = Json::parse(line);
  if (head.value("railweave", "") != "journal" || head.value("version", 0) != 1) {
    throw std::runtime_error(path + ": no export of a journal, version 1");
  }
  last_seq_ = head.at("afterSeq").get<std::uint64_t>();
  Sha256 digest;
  digest.add(line + "\n");
  bool ended = false;
  std::size_t later = 0;
  while (std::getline(file, line)) {
    const Json one = Json::parse(line);
    if (ended) throw std::runtime_error(path + ": something follows its end");
    if (one.contains("end")) {
      ended = true;
      if (one.at("end").get<std::uint64_t>() != last_seq_ || head.at("lastSeq") != one.at("end")) {
        verdict.fault(fmt::format("the journal's export: its newest record is {}, not {} as its end says", last_seq_,
                                  one.at("end").dump()));
      }
      if (one.at("sha256").get<std::string>() != digest.hex()) {
        verdict.fault("the journal's export: was changed since it was made, its SHA-256 is another one");
      }
      continue;
    }
    digest.add(line + "\n");
    if (one.contains("snapshot")) {
      take_snapshot(one.at("state"));
    } else if (one.contains("node")) {
      nics_[one.at("node").get<std::string>()] = one.at("gpus").get<std::vector<Json>>();
    } else {
      const auto at = one.at("seq").get<std::uint64_t>();
      const auto kind = one.at("kind").get<std::string>();
      if (at != last_seq_ + 1) {
        verdict.fault(fmt::format("the journal's export: record {} follows record {}", at, last_seq_));
      }
      last_seq_ = at;
      if (at <= seq) {
        take_record(one);
      } else if (changes_promises(kind) && ++later == 1) {
        verdict.fault(fmt::format(
            "the certificate is of another time: it is as of record {}, and record {} ({} of {}) came after it", seq,
            at, kind, one.at("subject").get<std::string>()));
      }
    }
  }
  if (!ended) throw std::runtime_error(path + ": its end is missing");
  if (last_seq_ < seq) {
    verdict.fault(
        fmt::format("the certificate is of another time: it is as of record {}, and the journal ends with record {}",
                    seq, last_seq_));
  }
}

void Journal::take_snapshot(const Json& state) {
  const Json& guarantees = state.at("guarantees");
  if (guarantees.is_object()) {
    classes_ = guarantees.value("qosClasses", classes_);
    for (const Json& kept : guarantees.value("contracts", Json::array())) {
      const auto tenant = kept.at("tenant").get<std::string>();
      contracts_[tenant] = contract_of(kept);
      pkeys_[tenant] = kept.at("pkey").get<std::uint16_t>();
    }
  }
  for (const Json& link : state.at("links").is_array() ? state.at("links") : Json::array()) {
    if (link.at(1) == "down") links_down_.insert(link.at(0).get<std::string>());
    if (link.size() == 3) seen_mbps_[link.at(0).get<std::string>()] = link.at(2).get<std::int64_t>();
  }
  for (const Json& one : state.value("subnetSpreads", Json::array())) {
    spread_[one.at("subnet").get<std::string>()] = one.at("spread").get<std::string>();
  }
  for (const Json& one : state.value("portLimits", Json::array())) take_limits(one);
  may_drain_ = true;
  for (const Json& job : state.at("jobs")) take_job(job_name(job), job);
}

void Journal::take_job(const std::string& id, const Json& data) {
  jobs_[id] = {{"spec", data.at("spec")}, {"places", data.at("ranks")}};
  take_guarantee(id, data.value("guarantee", Json()));
}

void Journal::take_guarantee(const std::string& id, const Json& guarantee) {
  if (!guarantee.is_object()) {
    guarantees_[id] = nullptr;
    return;
  }
  const bool covered = guarantee.contains("coveredOn");
  bool as_cabled = covered;  // with nothing out of use
  for (const char* name : {"down", "drainedLinks", "drainedSwitches"}) {
    as_cabled = as_cabled && guarantee.at("coveredOn").value(name, Json::array()).empty();
  }
  guarantees_[id] = {{"state", guarantee.value("atRiskSinceUs", std::int64_t{0}) == 0 ? "holds" : "atRisk"},
                     {"covered", covered},
                     {"coveredAsCabled", as_cabled},
                     {"lane", guarantee.value("lane", Json())}};
}

void Journal::take_limits(const Json& limits) {
  limits_[limits.at("subnet").get<std::string>()] = {limits.at("arbitrationEntries").get<std::int64_t>(),
                                                     limits.at("mtuBytes").get<std::int64_t>()};
}

PortLimits Journal::limits() const {
  PortLimits limits;
  for (const auto& [subnet, one] : limits_) limits.add(one.first, one.second);
  return limits;
}

void Journal::take_record(const Json& record) {
  const auto kind = record.at("kind").get<std::string>();
  const auto subject = record.at("subject").get<std::string>();
  if (kind == "drain.requested") drains_.insert(subject);
  if (kind == "drain.cleared") drains_.erase(subject);
  if (!record.contains("data")) return;
  const Json& data = record.at("data");
  if (kind == "contract.put") {
    const auto tenant = data.at("tenant").get<std::string>();
    contracts_[tenant] = contract_of(data);
    pkeys_[tenant] = data.at("pkey").get<std::uint16_t>();
  } else if (kind == "contract.removed") {
    contracts_.erase(data.at("tenant").get<std::string>());
    pkeys_.erase(data.at("tenant").get<std::string>());
  } else if (kind == "qosClasses.put") {
    classes_ = data.at("classes");
  } else if (kind == "job.placed") {
    take_job(subject, data);
  } else if (kind == "job.moved") {
    jobs_.at(subject)["places"] = data.at("ranks");
  } else if (kind == "job.ended" || kind == "job.evicted" || kind == "job.offerExpired") {
    jobs_.erase(subject);
    guarantees_.erase(subject);
  } else if (kind.starts_with("guarantee.")) {
    take_guarantee(subject, data.at("guarantee"));
  } else if (kind == "qos.limits") {
    take_limits(data);
  } else if (kind == "subnet.spreadSet") {
    spread_[data.at("subnet").get<std::string>()] = data.at("spread").get<std::string>();
  } else if (kind.starts_with("link.") && data.contains("links")) {
    for (const Json& report : data.at("links")) {
      const auto link = report.at("link").get<std::string>();
      const auto seen = report.value("seenMbps", std::int64_t{0});
      seen == 0 ? (void)seen_mbps_.erase(link) : (void)seen_mbps_.insert_or_assign(link, seen);
      report.at("state") == "down" ? (void)links_down_.insert(link) : (void)links_down_.erase(link);
    }
  } else if (kind == "topology.accepted") {
    links_down_.clear();
    seen_mbps_.clear();
    std::map<std::string, std::string> renamed;
    for (const Json& pair : data.value("renamed", Json::array())) renamed[pair.at(0)] = pair.at(1);
    for (auto& [id, job] : jobs_) {
      for (Json& place : job["places"]) {
        const auto now = renamed.find(place.at(0).get<std::string>());
        if (now != renamed.end()) place.at(0) = now->second;
      }
    }
  }
}

Outside Journal::outside() const {
  Outside outside{Json::array(), classes_, Json::array(), Json::array(), Json::array()};
  for (const auto& [subnet, spread] : spread_) {
    outside.subnets.push_back({{"id", subnet}, {"routing", {{"spread", spread}}}});
  }
  for (const auto& [tenant, contract] : contracts_) outside.contracts.push_back(contract);
  outside.seen_mbps = seen_mbps_;
  for (const std::string& link : links_down_) outside.links_down.push_back({{"id", link}});
  for (const auto& [id, job] : jobs_) {
    const Json& spec = job.at("spec");
    Json ranks = Json::array();
    for (const Json& place : job.at("places")) {
      const auto node = place.at(0).get<std::string>();
      const auto of_node = nics_.find(node);
      for (const Json& gpu : place.at(1)) {
        const auto index = gpu.get<std::size_t>();
        if (of_node == nics_.end() || index >= of_node->second.size()) {
          throw std::runtime_error("the journal's export does not say over which ports GPU " + gpu.dump() + " of " +
                                   node + " sends");
        }
        ranks.push_back({{"rank", ranks.size()}, {"node", node}, {"gpu", index}, {"nics", of_node->second[index]}});
      }
    }
    Json guarantee = guarantees_.at(id);
    if (guarantee.is_object() && (may_drain_ || !drains_.empty() || !links_down_.empty())) {
      guarantee["coveredAsCabled"] = false;
    }
    outside.jobs.push_back({{"job", id},
                            {"tenant", spec.at("tenant")},
                            {"state", "placed"},
                            {"spec", spec},
                            {"guarantee", std::move(guarantee)},
                            {"ranks", std::move(ranks)}});
  }
  return outside;
}

std::map<std::string, std::set<std::string>> Journal::tenants_by_node() const {
  std::map<std::string, std::set<std::string>> tenants;
  for (const auto& [id, job] : jobs_) {
    for (const Json& place : job.at("places")) {
      tenants[place.at(0).get<std::string>()].insert(job.at("spec").at("tenant").get<std::string>());
    }
  }
  return tenants;
}

}  // namespace railweave::verify
