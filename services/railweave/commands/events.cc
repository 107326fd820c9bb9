// railweave events: events of the journal, and with --follow new ones as they occur.
#include <algorithm>
#include <deque>
#include <optional>

#include "fabric/base/text/time_text.h"
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/connection/rest_words.h"
#include "services/railweave/terminal/age.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/table.h"
#include "services/railweave/views/event_line.h"

namespace railweave::cli {
namespace {

struct EventOptions {
  std::optional<std::uint64_t> after;
  std::string since;
  std::vector<std::string> types;
  std::string subject;
  std::uint64_t last = 50;
  bool follow = false;
};

Target events_target(const char* path, const EventOptions& options) {
  Target target(path);
  for (const auto& type : options.types) target.query("type", type);
  target.filter("subject", options.subject);
  return target;
}

std::string subject_text(const Json& event) {
  const Json& subject = field(event, "subject");
  return text_of(subject, "kind") + "/" + text_of(subject, "id");
}

// "no events with --type job.placd (railweave help events says what types are)".
std::string no_events_text(const EventOptions& options) {
  std::string text;
  for (const auto& type : options.types) text += (text.empty() ? " with --type " : ", --type ") + type;
  if (!options.subject.empty()) text += (text.empty() ? " with --subject " : ", --subject ") + options.subject;
  if (!options.since.empty()) text += " since " + options.since;
  if (!options.types.empty()) text += "; types are such as job.placed, link.down or drain.completed";
  if (!options.subject.empty()) text += "; subjects are a kind or KIND/ID, such as job/job-000001";
  return "no events" + text;
}

void print_events(Output& output, const EventOptions& options, const std::vector<Json>& events, std::uint64_t seq) {
  if (output.is_document()) return output.document(Json{{"items", events}, {"nextCursor", nullptr}, {"seq", seq}});
  if (events.empty()) return output.note(no_events_text(options));
  Table table({{"SEQ", Align::right},
               {"TIME", Align::left, false, true},
               {"AGE"},
               {"TYPE"},
               {"SUBJECT"},
               {"BY"},
               {"SUMMARY", Align::left, false, false, true}});
  for (const auto& event : events) {
    table.add({text_of(event, "seq"),
               time_of(event, "time"),
               age_of(event, "time"),
               {text_of(event, "type"), tone_of_severity(text_of(event, "severity"))},
               subject_text(event),
               text_of(event, "actor"),
               in_commands(text_of(event, "summary"))});
  }
  output.text(table.text(output.terminal()));
}

struct Events {
  std::vector<Json> items;
  std::uint64_t seq = 0;  // of the state that they were read from
};

Events events_after(Session& session, const EventOptions& options, std::uint64_t after, std::uint64_t keep_last) {
  Target target = events_target("/v1/events", options);
  target.query("after", std::to_string(after));
  std::deque<Json> items;
  const auto end = session.service().each_item(
      target, 0,
      [&](const Json& event) {
        items.push_back(event);
        if (keep_last != 0 && items.size() > keep_last) items.pop_front();
      },
      [&] { items.clear(); });
  return {{items.begin(), items.end()}, end.seq};
}

// The newest `last` events. The journal is read forwards only, so the start moves back, tenfold each time, until there
// are enough.
Events last_events(Session& session, const EventOptions& options) {
  if (options.last == 0) return events_after(session, options, 0, 0);
  const std::uint64_t seq = count_of(
      session.service().get(Target("/v1/events").query("limit", "1").query("after", "9223372036854775807")), "seq");
  for (std::uint64_t window = options.last;; window = window > seq / 10 ? seq : window * 10) {
    const std::uint64_t after = window < seq ? seq - window : 0;
    try {
      Events events = events_after(session, options, after, options.last);
      if (events.items.size() >= options.last || after == 0) return events;
    } catch (const CommandFailure& failure) {
      if (failure.error().code != kEventsGone) throw;
      return events_after(session, options, 0, options.last);
    }
  }
}

// The time of the first event after that number; none: there is no later one.
std::optional<std::int64_t> time_after(Session& session, std::uint64_t after) {
  std::optional<std::int64_t> time;
  const auto take = [&](const Json& event) { time = parse_time_us(text_of(event, "time")); };
  const Target target = Target("/v1/events").query("after", std::to_string(after)).query("fields", "seq,time");
  try {
    session.service().each_item(target, 1, take, [] {});
  } catch (const CommandFailure& failure) {
    if (failure.error().code != kEventsGone) throw;
    return 0;  // longer ago than events are kept
  }
  return time;
}

// The number before the first event at that time or later. Times of events never go back, so it is found by halving.
std::uint64_t seq_before(Session& session, std::int64_t since_us) {
  std::uint64_t low = 0;
  std::uint64_t high = count_of(
      session.service().get(Target("/v1/events").query("limit", "1").query("after", "9223372036854775807")), "seq");
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const auto time = time_after(session, middle);
    if (!time || *time >= since_us) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

void follow(Session& session, const EventOptions& options, std::uint64_t after) {
  follow_events(session, events_target("/v1/events/stream", options), std::to_string(after));
}

void run(Session& session, EventOptions options) {
  Output& output = session.output;
  if (!options.since.empty()) {
    const auto since = past_time_us(options.since);
    if (!since) {
      fail_usage("--since takes a time or how long ago, not '" + options.since + "'",
                 "such as 2026-11-21T09:00:00Z, 10m, 2h or 7d");
    }
    options.after = seq_before(session, *since);
  }
  if (!options.follow) {
    const Events events =
        options.after ? events_after(session, options, *options.after, 0) : last_events(session, options);
    return print_events(output, options, events.items, events.seq);
  }
  if (options.after) return follow(session, options, *options.after);
  const Events events = last_events(session, options);
  for (const auto& event : events.items) print_event(output, event);
  output.flush();
  follow(session, options, events.seq);
}

}  // namespace

void add_event_commands(CLI::App& root, Session& session) {
  auto options = std::make_shared<EventOptions>();
  CLI::App& command = add_command(
      root, "events", "Show events of the fabric, of jobs and of tenants",
      {"railweave events --since 2h", "railweave events --subject job/job-000001",
       "railweave events --follow --type job.placed", "railweave events --type link.down --type drain.completed",
       "railweave events --after 8812 -o json"});
  command.group("Service");
  CLI::Option* after =
      add_number_option(command, "--after", options->after, "Show all events after this sequence number")
          ->type_name("SEQ");
  command
      .add_option("--since", options->since,
                  "Show all events since this time (RFC 3339), or since as long ago as 10m, 2h or 7d")
      ->type_name("TIME")
      ->excludes(after);
  add_number_option(command, "--last", options->last, "Without --after: show the last N; 0: all");
  command.add_option("--type", options->types, "Only events of this type, such as job.placed; repeatable")
      ->type_name("TYPE")
      ->allow_extra_args(false);
  command
      .add_option("--subject", options->subject,
                  "Only events about this object, such as job/job-000001, or about a kind of object, such as tenant")
      ->type_name("KIND/ID");
  command.add_flag(
      "--follow", options->follow,
      "Continue with new events until interrupted; with -o json one per line, with -o yaml one document each");
  on_run(command, session, [&session, options] { run(session, *options); });
}

}  // namespace railweave::cli
