// What the journal's records lead to, and whether the journal's records lead to the states that its snapshots hold.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "db/store_copy.h"
#include "db/store_image.h"
#include "services/control/codec/report_rows.h"
#include "services/control/state/cluster_state.h"

namespace railweave::cli {

struct ReplayedStore {
  std::uint64_t records = 0;    // decoded and applied
  std::uint64_t snapshots = 0;  // compared with the state at their record
  api::ReplayStart start;
};

// Is given what each event writes into the reporting tables, in the order of the events, but for rows of the audit trail. Those
// that began before the replay did are left out.
using ReportVisitor = std::function<Result<void>(std::vector<db::ReportRow>&&)>;

// From the first record on, or, where the oldest were removed, from the oldest snapshot. Error: the first record that cannot be
// read back, or db.snapshotDiffers, which names the snapshot.
Result<ReplayedStore> replay_store(db::StoreImage& image, const db::StoreProgress& progress,
                                   const ReportVisitor& on_reports = {});
// The state that they lead to. Errors: the same.
Result<control::ClusterState> replay_state(db::StoreImage& image, const db::StoreProgress& progress);

}  // namespace railweave::cli
