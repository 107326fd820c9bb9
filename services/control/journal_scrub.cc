#include "services/control/journal_scrub.h"

#include <utility>

#include <fmt/format.h>

namespace railweave::control {
namespace {

constexpr std::size_t kPage = 1000;
constexpr std::size_t kMaxNamed = 10;

Alarm damage_alarm(std::string text) {
  Alarm alarm;
  alarm.kind = "store.damaged";
  alarm.subject_kind = "store";
  alarm.subject_id = "journal";
  alarm.severity = AlarmSeverity::critical;
  alarm.text = std::move(text);
  return alarm;
}

}  // namespace

JournalScrub::JournalScrub(ControlLoop& loop, db::Journal& journal, ScrubOptions options)
    : loop_(loop), journal_(journal), options_(std::move(options)) {}

JournalScrub::~JournalScrub() { stop(); }

void JournalScrub::start() {
  worker_.start([this](Worker::Turn& turn) {
    do {
      Found found;
      if (!read_all(turn, found)) continue;
      options_.log.debug("the journal was looked through: {} records, {} damaged", found.read, found.damaged);
      tell(found);
    } while (turn.rest(options_.every));
  });
}

void JournalScrub::stop() { worker_.stop(); }

bool JournalScrub::read_all(Worker::Turn& turn, Found& found) {
  const std::uint64_t end = loop_.state()->seq;
  for (std::uint64_t after = 0; after < end;) {
    if (turn.is_to_end()) return false;
    const auto page = journal_.read({.after_seq = after,
                                     .up_to_seq = end,
                                     .limit = kPage,
                                     .kinds = {},
                                     .subject_kind = {},
                                     .subject_id = {},
                                     .with_damaged = true});
    if (!page) {
      options_.log.warn("the journal could not be looked through: {}", page.error().text());
      return false;
    }
    if (page->empty()) break;
    after = page->back().seq;
    found.read += page->size();
    for (const auto& record : *page) {
      if (!record.damaged) continue;
      ++found.damaged;
      if (found.first.size() < kMaxNamed) found.first.push_back(record.seq);
    }
    turn.pause(options_.pause);
  }
  return true;
}

void JournalScrub::tell(const Found& found) {
  const Alarm standing = damage_alarm({});
  ReportAlarms report;
  if (found.damaged != 0) {
    std::string named = fmt::format("{}", fmt::join(found.first, ", "));
    if (found.damaged > found.first.size()) named += fmt::format(" and {} more", found.damaged - found.first.size());
    const std::string text = fmt::format(
        "the store is damaged: the records of {} events cannot be read ({}); a start that needs them fails. Stop the "
        "service, check the disk, and restore a backup that railweave admin check finds whole",
        found.damaged, named);
    options_.log.warn("{}", text);
    report.raised.push_back(damage_alarm(text));
  } else if (loop_.state()->alarms->contains(standing.id())) {
    report.cleared.push_back(standing.id());
  } else {
    return;
  }
  (void)loop_.submit({"railweave", std::move(report)}, [](const auto&) {});
}

}  // namespace railweave::control
