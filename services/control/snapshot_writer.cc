#include "services/control/snapshot_writer.h"

#include <utility>

namespace railweave::control {

SnapshotWriter::SnapshotWriter(db::Journal& journal, const EventCodec& codec, Options options)
    : journal_(journal), codec_(codec), options_(std::move(options)) {}

SnapshotWriter::~SnapshotWriter() { stop(nullptr); }

void SnapshotWriter::start() {
  worker_.start([this](Worker::Turn& turn) {
    bool goes_on = true;
    do {
      goes_on = turn.rest();
      save_offered();  // at the end too
    } while (goes_on);
  });
}

void SnapshotWriter::offer(const ClusterStatePtr& state) {
  if (state->seq - last_seq_ < options_.every) return;
  last_seq_ = state->seq;
  {
    const std::lock_guard lock(mutex_);
    next_ = state;
  }
  worker_.wake();
}

void SnapshotWriter::stop(const ClusterStatePtr& last) {
  {
    const std::lock_guard lock(mutex_);
    if (last != nullptr && last->seq > last_seq_) next_ = last;
  }
  worker_.stop();
}

void SnapshotWriter::save_offered() {
  ClusterStatePtr next;
  {
    const std::lock_guard lock(mutex_);
    next = std::exchange(next_, nullptr);
  }
  if (next != nullptr) save(*next);
}

void SnapshotWriter::save(const ClusterState& state) {
  const db::Snapshot snapshot{state.seq, state.term, state.time_us, 1, codec_.encode_state(state)};
  if (auto saved = journal_.save_snapshot(snapshot); !saved) {
    options_.log.warn("snapshot not saved, the next start replays more events: {}", saved.error().text());
  } else {
    ++saved_;
    options_.log.debug("snapshot of event {} saved, {} B", state.seq, snapshot.payload.size());
  }
}

}  // namespace railweave::control
