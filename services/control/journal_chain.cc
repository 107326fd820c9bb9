#include "services/control/journal_chain.h"

namespace railweave::control {

void JournalChain::link(std::vector<db::Record>& records) {
  if (records.empty()) return;
  if (const std::uint64_t first = records.front().seq; tail_.empty() && first > 1) {
    const auto last = journal_.read(
        {.after_seq = first - 2, .up_to_seq = first - 1, .kinds = {}, .subject_kind = {}, .subject_id = {}});
    // One that cannot be read is named by none.
    if (last && last->size() == 1) tail_ = codec_.digest(last->front());
  }
  for (auto& record : records) {
    codec_.link(record, tail_);
    tail_ = codec_.digest(record);
  }
}

}  // namespace railweave::control
