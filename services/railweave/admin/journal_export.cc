#include "services/railweave/admin/journal_export.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/core.h>

#include "services/json/digest.h"
#include "services/railweave/admin/snapshot_replay.h"
#include "services/railweave/terminal/json.h"

namespace railweave::cli {
namespace {

std::unexpected<Error> damaged(const db::StoreImage& image, const std::string& what) {
  return fail(ErrorKind::internal, "db.damaged", what, image.location(), "railweave admin check says more");
}

bool is_of_promises(std::string_view kind) {
  constexpr std::array<std::string_view, 8> prefixes{
      "topology.accepted", "contract.", "qosClasses.", "guarantee.", "job.", "link.", "subnet.spreadSet", "qos.limits"};
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return kind.starts_with(prefix); });
}

// What clients and people said beside: not needed to tell what is promised.
void remove_private(Json& data) {
  for (const char* name : {"idempotencyKey", "keyOwner", "requestDigest", "waits", "damage", "history"})
    data.erase(name);
}

Result<std::string> record_line(const db::StoreImage& image, db::StoredRecord&& stored) {
  auto record = db::unpack(std::move(stored));
  if (!record) return std::unexpected(record.error());
  Json line{{"seq", record->seq},   {"timeUs", record->time_us},  {"term", record->term},
            {"kind", record->kind}, {"version", record->version}, {"subject", record->subject_id}};
  if (is_of_promises(record->kind)) {
    Json payload = Json::parse(record->payload, nullptr, false);
    if (!payload.is_object() || !payload.contains("data")) {
      return damaged(image, fmt::format("record {} has no data", record->seq));
    }
    remove_private(payload["data"]);
    line["data"] = std::move(payload["data"]);
  }
  return line.dump() + "\n";
}

// Contracts, classes, links and placed jobs of a state.
Result<std::string> snapshot_line(db::StoreImage& image, std::uint64_t seq) {
  auto stored = image.snapshot(seq);
  if (!stored) return std::unexpected(stored.error());
  if (!*stored) return damaged(image, fmt::format("snapshot {} is missing", seq));
  const auto snapshot = db::unpack(std::move(**stored));
  if (!snapshot) return std::unexpected(snapshot.error());
  Json whole = Json::parse(snapshot->payload, nullptr, false);
  if (!whole.is_object()) return damaged(image, fmt::format("snapshot {} cannot be read", seq));
  Json jobs = Json::array();
  for (Json& job : whole["jobs"]) {
    if (job.value("state", "") != "placed") continue;
    remove_private(job);
    jobs.push_back(std::move(job));
  }
  const Json state{
      {"topology", whole["topology"]},
      {"guarantees", whole["guarantees"]},
      {"links", whole["fabric"].is_object() ? whole["fabric"]["links"] : Json()},
      {"subnetSpreads",
       whole["fabric"].is_object() ? whole["fabric"].value("subnetSpreads", Json::array()) : Json::array()},
      {"portLimits", whole["fabric"].is_object() ? whole["fabric"].value("portLimits", Json::array()) : Json::array()},
      {"jobs", std::move(jobs)}};
  return Json{{"snapshot", seq}, {"state", state}}.dump() + "\n";
}

// Over which ports each GPU sends, of the nodes of placed jobs: follows from affinity and cabling of the newest topology.
std::string node_lines(const control::ClusterState& state) {
  const auto& t = state.topology();
  std::set<fabric::HostId> hosts;
  state.jobs.visit_after(control::JobId(0), [&](const control::JobPtr& job) {
    if (!job->holds_gpus()) return true;
    for (const fabric::GpuId gpu : job->placement.gpu_of_rank) hosts.insert(t.host(gpu));
    return true;
  });
  std::string text;
  for (const fabric::HostId host : hosts) {
    Json gpus = Json::array();
    for (const fabric::GpuId gpu : t.gpus(host)) {
      Json nics = Json::array();
      for (const auto& nic : state.placement_fabric->as_cabled().gpu_nics().nics(gpu)) {
        nics.push_back({{"port", t.port_text(nic.port)}, {"rail", nic.rail ? Json(nic.rail.index()) : Json()}});
      }
      gpus.push_back(std::move(nics));
    }
    text += Json{{"node", t.name(host)}, {"gpus", std::move(gpus)}}.dump() + "\n";
  }
  return text;
}

}  // namespace

Result<std::string> export_journal(db::StoreImage& image, const db::StoreProgress& progress) {
  const auto [first, last] = image.extent();
  const auto seqs = image.snapshots();
  if (!seqs) return std::unexpected(seqs.error());
  std::uint64_t after = 0;
  std::string text;
  if (first > 1) {
    if (seqs->empty()) return damaged(image, "the oldest records were removed, and no snapshot stands for them");
    after = std::ranges::min(*seqs);
    auto line = snapshot_line(image, after);
    if (!line) return line;
    text = std::move(*line);
  }
  text = Json{{"railweave", "journal"}, {"version", 1}, {"afterSeq", after}, {"lastSeq", last}}.dump() + "\n" + text;
  for (std::uint64_t seq = after; seq < last;) {
    auto page = image.records(seq);
    if (!page) return std::unexpected(page.error());
    if (page->empty()) return damaged(image, fmt::format("record {} is missing", seq + 1));
    for (auto& stored : *page) {
      seq = stored.record.seq;
      auto line = record_line(image, std::move(stored));
      if (!line) return line;
      text += *line;
    }
    if (progress) progress("records read", seq, last);
  }
  const auto state = replay_state(image, progress);
  if (!state) return std::unexpected(state.error());
  text += node_lines(*state);
  return text + Json{{"end", last}, {"sha256", api::sha256_hex(text)}}.dump() + "\n";
}

}  // namespace railweave::cli
