#include "services/railweave/admin/snapshot_replay.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "services/control/codec/journal_codec.h"
#include "services/control/events/apply.h"
#include "services/control/events/event.h"

namespace railweave::cli {
namespace {

control::BlobReader blobs_of(db::StoreImage& image) {
  return [&image](const std::string& digest) -> Result<std::optional<std::string>> {
    auto stored = image.blob(digest);
    if (!stored) return std::unexpected(stored.error());
    if (!*stored) return std::nullopt;
    auto whole = unpack(digest, std::move(**stored));
    if (!whole) return std::unexpected(whole.error());
    return std::move(whole->bytes);
  };
}

// Earlier releases did not write when a tenant was made. What they wrote is compared without it.
void leave_out_unwritten(const control::ClusterState& snapshot, control::ClusterState& replayed) {
  auto tenants = std::make_shared<control::TenantTable>(*replayed.tenants);
  for (auto& [name, tenant] : *tenants) {
    const auto written = snapshot.tenants->find(name);
    if (written == snapshot.tenants->end() || written->second.created != 0) continue;
    tenant.created = 0;
    tenant.first_job = 0;
  }
  replayed.tenants = std::move(tenants);
}

// Releases differ in which ended jobs they keep, and with them in which keys are those of jobs.
void leave_common_ended(control::ClusterState& a, control::ClusterState& b) {
  if (*a.ended == *b.ended) return;
  const std::set<control::JobId> of_a(a.ended->begin(), a.ended->end()), of_b(b.ended->begin(), b.ended->end());
  const auto keep = [](control::ClusterState& state, const std::set<control::JobId>& others) {
    auto ended = std::make_shared<std::deque<control::JobId>>();
    for (const control::JobId id : *state.ended) {
      if (others.contains(id)) {
        ended->push_back(id);
      } else {
        state.jobs.erase(id);
      }
    }
    state.ended = std::move(ended);
    state.idempotency = {};
  };
  keep(a, of_b);
  keep(b, of_a);
}

class StoreReplay {
 public:
  StoreReplay(db::StoreImage& image, const db::StoreProgress& progress, const ReportVisitor& on_reports)
      : image_(image), progress_(progress), on_reports_(on_reports), blobs_(blobs_of(image)) {}

  Result<ReplayedStore> run() {
    const auto seqs = image_.snapshots();
    if (!seqs) return std::unexpected(seqs.error());
    for (const std::uint64_t seq : *seqs) {
      auto state = decoded(seq);
      if (!state) return std::unexpected(state.error());
      expected_.emplace(seq, std::move(*state));
    }
    const auto& extent = image_.extent();
    if (extent.first_seq > 1) {
      // Nothing is left that leads to the oldest snapshot.
      if (expected_.empty()) return replayed_;
      state_ = std::move(expected_.begin()->second);
      expected_.erase(expected_.begin());
      replayed_.start = api::replay_start(state_);
    } else if (auto same = compare(); !same) {
      return std::unexpected(same.error());
    }
    while (state_.seq < extent.last_seq) {
      auto page = image_.records(state_.seq);
      if (!page) return std::unexpected(page.error());
      if (page->empty()) break;
      for (auto& stored : *page) {
        if (auto applied = apply_next(std::move(stored)); !applied) return std::unexpected(applied.error());
      }
      if (progress_) progress_("records replayed", state_.seq, extent.last_seq);
    }
    return replayed_;
  }

  [[nodiscard]] control::ClusterState&& state() && { return std::move(state_); }

 private:
  Result<control::ClusterState> decoded(std::uint64_t seq) {
    auto stored = image_.snapshot(seq);
    if (!stored) return std::unexpected(stored.error());
    if (!*stored) {
      return fail(ErrorKind::internal, "db.damaged", fmt::format("snapshot {} is missing", seq), image_.location());
    }
    const auto snapshot = unpack(std::move(**stored));
    if (!snapshot) return std::unexpected(snapshot.error());
    auto state = codec_.decode_state(*snapshot, blobs_);
    if (state) return state;
    return fail(ErrorKind::internal, "db.damaged",
                fmt::format("snapshot {} cannot be read back: {}", seq, state.error().text()), image_.location(),
                "restore the store from a backup");
  }

  Result<void> apply_next(db::StoredRecord&& stored) {
    const auto record = unpack(std::move(stored));
    if (!record) return std::unexpected(record.error());
    const auto event = codec_.decode(*record, state_, blobs_);
    if (!event) {
      return fail(ErrorKind::internal, "db.damaged",
                  fmt::format("record {} cannot be read back: {}", record->seq, event.error().text()),
                  image_.location(), "restore the store from a backup");
    }
    std::vector<db::ReportRow> rows;
    if (on_reports_) rows = codec_.ended_by(*event, state_);
    control::apply(state_, *event);
    ++replayed_.records;
    if (on_reports_) {
      std::ranges::move(api::report_rows(*event, state_), std::back_inserter(rows));
      std::erase_if(rows, [&](const auto& row) { return !api::began_after(replayed_.start, row); });
      if (auto visited = on_reports_(std::move(rows)); !visited) return visited;
    }
    return compare();
  }

  // With the snapshot of this record, if there is one. Both in the same form: snapshots of earlier releases have others.
  Result<void> compare() {
    const auto at = expected_.find(state_.seq);
    if (at == expected_.end()) return {};
    control::ClusterState replayed = state_;
    leave_out_unwritten(at->second, replayed);
    leave_common_ended(at->second, replayed);
    if (codec_.encode_state(at->second) != codec_.encode_state(replayed)) {
      return fail(
          ErrorKind::internal, "db.snapshotDiffers",
          fmt::format("snapshot {} differs from what the records up to it lead to", state_.seq), image_.location(),
          "a service that starts from it would go on from another state than the journal's: restore the store from "
          "a backup, or remove this snapshot, as the journal is complete without it");
    }
    ++replayed_.snapshots;
    return {};
  }

  db::StoreImage& image_;
  const db::StoreProgress& progress_;
  const ReportVisitor& on_reports_;
  const control::BlobReader blobs_;
  const api::JournalCodec codec_;
  std::map<std::uint64_t, control::ClusterState> expected_;
  control::ClusterState state_;
  ReplayedStore replayed_;
};

}  // namespace

Result<ReplayedStore> replay_store(db::StoreImage& image, const db::StoreProgress& progress,
                                   const ReportVisitor& on_reports) {
  return StoreReplay(image, progress, on_reports).run();
}

Result<control::ClusterState> replay_state(db::StoreImage& image, const db::StoreProgress& progress) {
  const ReportVisitor none;
  StoreReplay replay(image, progress, none);
  if (auto ran = replay.run(); !ran) return std::unexpected(ran.error());
  return std::move(replay).state();
}

}  // namespace railweave::cli
