#include "services/rest/json/jobs/job_batch.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "services/control/codec/job_json.h"
#include "services/json/digest.h"

namespace railweave::api {
namespace {

using scheduler::JobSpec;

std::string key_json(const std::string& key) { return key.empty() ? "null" : dump(Out(key)); }

Result<JobRequest> read_item(Json item, bool needs_key, BatchItem& into) {
  const std::string& pointer = into.pointer;
  if (!item.is_object()) return fail(ErrorKind::invalid, "body.wrongType", "is not an object", pointer);
  if (const auto key = item.find("key"); key != item.end()) {
    if (!key->is_string()) return fail(ErrorKind::invalid, "body.invalidField", "is not a text", pointer + "/key");
    into.key = key->get<std::string>();
    item.erase(key);
    if (auto checked = check_idempotency_key(into.key); !checked) {
      into.key.clear();
      checked.error().location = pointer + "/key";
      return std::unexpected(checked.error());
    }
  }
  if (into.key.empty() && needs_key) {
    return fail(ErrorKind::invalid, "body.missingField", "'key' is missing: it makes repeating the batch safe",
                pointer + "/key");
  }
  into.digest = sha256_hex(item.dump(-1, ' ', false, Json::error_handler_t::replace));
  auto request = job_request_from_json(std::move(item));
  if (!request) return std::unexpected(into.located(std::move(request.error())));
  return request;
}

// [{"roles": ["prefill", "decode"], "level": "rack"}]
void read_rules(ObjectReader& gang, std::string_view field, std::vector<control::GangRule>& into) {
  const Json* list = gang.take(field);
  if (list == nullptr || list->is_null()) return;
  constexpr std::size_t kMost = control::GangRule::kMaxRules;
  if (!list->is_array() || list->size() > kMost) {
    return gang.set_error(field, fmt::format("a list of at most {} {{roles, level}} is wanted", kMost));
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    ObjectReader reader((*list)[i], fmt::format("{}/{}", gang.pointer(field), i));
    control::GangRule rule{.roles = {}, .level = {}, .together = field == "together"};
    std::string level;
    reader.require("roles");
    reader.read("roles", rule.roles, kMaxBatchItems);
    reader.require("level");
    reader.read("level", level);
    if (const auto known = level_named(level)) {
      rule.level = *known;
    } else {
      reader.set_error("level", "there is no level " + shown(level));
    }
    if (auto done = reader.finish(); !done) return gang.set_error(done.error());
    into.push_back(std::move(rule));
  }
}

// [{"from": "prefill", "to": "decode", "bytesPerStep": 2e9, "spread": "allToAll"}]
void read_traffic(ObjectReader& gang, std::vector<control::GangTraffic>& into) {
  const Json* list = gang.take("traffic");
  if (list == nullptr || list->is_null()) return;
  constexpr std::size_t kMost = control::GangTraffic::kMaxPairs;
  constexpr double kMaxBytes = 1e18;
  if (!list->is_array() || list->size() > kMost) {
    return gang.set_error("traffic", fmt::format("a list of at most {} {{from, to, bytesPerStep}} is wanted", kMost));
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    ObjectReader reader((*list)[i], fmt::format("{}/{}", gang.pointer("traffic"), i));
    control::GangTraffic one;
    for (const auto* name : {"from", "to", "bytesPerStep"}) reader.require(name);
    reader.read("from", one.from);
    reader.read("to", one.to);
    reader.read("bytesPerStep", one.bytes);
    if (!(one.bytes >= 0 && one.bytes <= kMaxBytes)) reader.set_error("bytesPerStep", "must be between 0 and 1e18");
    std::optional<std::string> spread;
    reader.read_text("spread", spread);
    if (spread) {
      const auto known = parse_enum<scheduler::RoleSpread>(*spread);
      if (!known) reader.set_error("spread", "there is no spread " + shown(*spread), "it is allToAll or byRank");
      one.spread = known.value_or(one.spread);
    }
    if (auto done = reader.finish(); !done) return gang.set_error(done.error());
    into.push_back(std::move(one));
  }
}

std::vector<const JobSpec*> jobs_of(const BatchBody& batch, const std::string& role) {
  std::vector<const JobSpec*> jobs;
  for (const BatchItem& item : batch.items) {
    if (item.request->spec.name == role) jobs.push_back(&item.request->spec);
  }
  return jobs;
}

// Roles are items of one tenant, by their names: each job is told of its peers, and is to keep them all.
Result<void> check_gang_traffic(const BatchBody& batch) {
  const auto refuse = [](std::string why, std::string pointer, std::string hint = {}) {
    return fail(ErrorKind::invalid, "body.invalidField", std::move(why), std::move(pointer), std::move(hint));
  };
  std::map<std::string, std::size_t> peers;  // of each job of a role, at most
  for (std::size_t i = 0; i < batch.traffic.size(); ++i) {
    const auto& one = batch.traffic[i];
    const std::string at = fmt::format("/gang/traffic/{}", i);
    if (one.from == one.to) {
      return refuse("a role exchanges data with another one", at + "/to", "traffic inside a role is its job's own");
    }
    std::set<std::string> tenants;
    for (const auto& [role, other, member] :
         {std::tuple(&one.from, &one.to, "/from"), std::tuple(&one.to, &one.from, "/to")}) {
      const auto jobs = jobs_of(batch, *role);
      if (jobs.empty())
        return refuse("no item is named " + shown(*role), at + member, "roles are items by their names");
      for (const JobSpec* job : jobs) tenants.insert(job->tenant);
      std::size_t& of_each = peers[*other];
      of_each += jobs.size();
      if (of_each > JobSpec::kMaxPeers) {
        return refuse(fmt::format("a job exchanges data with at most {} others of its gang", JobSpec::kMaxPeers), at);
      }
    }
    if (tenants.size() > 1) return refuse("roles that exchange data are jobs of one tenant", at);
  }
  return {};
}

// Who asks for a promise of what it sends to other roles says to which.
Result<void> check_senders(const BatchBody& batch) {
  for (const BatchItem& item : batch.items) {
    if (!item.request) continue;
    const JobSpec& spec = item.request->spec;
    const bool sends = std::ranges::any_of(batch.traffic, [&](const auto& one) { return one.from == spec.name; });
    if (sends) continue;
    if (auto checked = check_sends_to_no_role(spec); !checked) return std::unexpected(item.located(checked.error()));
  }
  return {};
}

// Every role has an item, and all of them start now.
Result<void> check_gang(const BatchBody& batch) {
  if (!batch.gang) return {};
  for (const auto& item : batch.items) {
    if (!item.request) return std::unexpected(item.request.error());
    if (item.request->queue || item.request->adopt) {
      return fail(ErrorKind::invalid, "body.invalidField", "the roles of a gang start now or not at all",
                  item.pointer + (item.request->queue ? "/queue" : "/adopt"), "leave it out");
    }
  }
  for (const auto& rule : batch.rules) {
    for (const auto& role : rule.roles) {
      const bool known =
          std::ranges::any_of(batch.items, [&](const BatchItem& item) { return item.request->spec.name == role; });
      if (known) continue;
      return fail(ErrorKind::invalid, "body.invalidField", "no item is named " + shown(role), "/gang",
                  "roles are items by their names");
    }
  }
  return check_gang_traffic(batch);
}

}  // namespace

Result<void> check_idempotency_key(std::string_view key) {
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (key.size() <= kMaxKeyBytes && std::ranges::all_of(key, printable)) return {};
  return fail(ErrorKind::invalid, "idempotency.badKey",
              fmt::format("the Idempotency-Key must be at most {} printable ASCII characters", kMaxKeyBytes), {}, {});
}

Result<BatchBody> read_batch(std::string_view body, bool needs_keys) {
  auto value = parse_json(body);
  if (!value) return std::unexpected(value.error());
  ObjectReader reader(*value, "");
  reader.require("items");
  const Json* list = reader.take("items");
  BatchBody batch;
  if (const Json* gang = reader.take("gang"); gang != nullptr && !gang->is_null()) {
    batch.gang = true;
    ObjectReader fields(*gang, "/gang");
    read_rules(fields, "together", batch.rules);
    read_rules(fields, "apart", batch.rules);
    read_traffic(fields, batch.traffic);
    if (auto done = fields.finish(); !done) reader.set_error(done.error());
  }
  if (auto done = reader.finish(); !done) return std::unexpected(done.error());
  auto items = read_batch_items(*list, "/items", kMaxBatchItems, needs_keys);
  if (!items) return std::unexpected(std::move(items.error()));
  batch.items = std::move(*items);
  if (auto checked = check_gang(batch); !checked) return std::unexpected(checked.error());
  if (auto checked = check_senders(batch); !checked) return std::unexpected(checked.error());
  return batch;
}

Result<std::vector<BatchItem>> read_batch_items(const Json& list, const std::string& pointer, std::size_t max_items,
                                                bool needs_keys) {
  if (!list.is_array() || list.empty() || list.size() > max_items) {
    return fail(ErrorKind::invalid, "body.invalidField", fmt::format("a list of 1 to {} jobs is wanted", max_items),
                pointer);
  }
  std::vector<BatchItem> items;
  items.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    BatchItem item{{}, {}, fmt::format("{}/{}", pointer, i), JobRequest()};
    item.request = read_item(list[i], needs_keys, item);
    items.push_back(std::move(item));
  }
  return items;
}

void BatchAnswer::add(const std::string& item_json) { items_ += (items_.empty() ? "" : ",") + item_json; }

void BatchAnswer::add_problem(const std::string& key, int status, const std::string& problem_json) {
  add(R"({"key":)" + key_json(key) + R"(,"status":)" + std::to_string(status) + R"(,"problem":)" + problem_json + "}");
}

void BatchAnswer::add_job(const std::string& key, int status, const std::string& job_json) {
  add(R"({"key":)" + key_json(key) + R"(,"status":)" + std::to_string(status) + R"(,"job":)" + job_json + "}");
}

void BatchAnswer::add_placement(const std::string& key, const std::string& answer_json) {
  add(R"({"key":)" + key_json(key) + R"(,"status":200,"placement":)" + answer_json + "}");
}

std::string BatchAnswer::finish(std::uint64_t seq) && {
  return R"({"items":[)" + items_ + R"(],"seq":)" + std::to_string(seq) + "}";
}

}  // namespace railweave::api
