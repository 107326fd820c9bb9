#include "fabric/health/link_damping.h"

#include <algorithm>
#include <tuple>

#include "fabric/base/check.h"

namespace railweave::fabric::health {

Result<void> check(const DampingOptions& options) {
  const auto wrong = [](const char* what) { return fail(ErrorKind::invalid, "health.damping", what); };
  if (options.flaps < 1 || options.flaps > DampingOptions::kMaxFlaps) return wrong("1 to 100 flaps are counted");
  if (options.window_us <= 0 || options.hold_us <= 0 || options.start_us < 0) return wrong("times are above 0");
  if (options.share_percent > 100) return wrong("a share is at most 100 percent");
  return {};
}

template <class Id>
FlapDamping<Id>::FlapDamping(const DampingOptions& options) : options_(options) {
  RAILWEAVE_CHECK(check(options).has_value(), "damping options were checked");
}

template <class Id>
void FlapDamping<Id>::flap(Id id, std::int64_t at_us) {
  Record& record = records_[id];
  if (!record.at_us.empty()) at_us = std::max(at_us, record.at_us.back());  // reports may arrive out of order
  if (record.until_us <= at_us) {
    std::erase_if(record.at_us, [&](std::int64_t earlier) { return at_us - earlier >= options_.window_us; });
    record.flaps = record.at_us.size();
    record.until_us = 0;
  }
  ++record.flaps;
  record.at_us.push_back(at_us);
  if (record.at_us.size() > options_.flaps) record.at_us.erase(record.at_us.begin());
  if (record.until_us != 0) {
    record.until_us = at_us + options_.hold_us;
  } else if (record.at_us.size() == options_.flaps) {
    record.since_us = at_us;
    record.until_us = at_us + options_.hold_us;
  }
}

template <class Id>
std::vector<Flapping<Id>> FlapDamping<Id>::flapping(std::int64_t now_us) {
  std::erase_if(records_, [&](const auto& entry) {
    const Record& record = entry.second;
    return now_us >= record.until_us && now_us - record.at_us.back() >= options_.window_us;
  });
  std::vector<Flapping<Id>> now;
  for (const auto& [id, record] : records_) {
    if (now_us < record.until_us) now.push_back({id, record.since_us, record.until_us, record.flaps});
  }
  std::ranges::sort(now, {}, [](const Flapping<Id>& one) { return std::tuple(one.since_us, one.id); });
  return now;
}

template class FlapDamping<LinkId>;
template class FlapDamping<SwitchId>;

}  // namespace railweave::fabric::health
