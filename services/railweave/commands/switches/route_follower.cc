#include "services/railweave/commands/switches/route_follower.h"

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/fnv1a.h"
#include "fabric/base/plural.h"
#include "services/railweave/commands/switches/switch_script.h"
#include "services/railweave/commands/switches/switch_tables.h"
#include "services/railweave/connection/rest_words.h"
#include "services/railweave/switch_config/changed_routes.h"
#include "services/railweave/switch_config/switch_config.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

// What next hops and tables depend on.
constexpr const char* kRouteEvents[] = {"topology.accepted", "job.placed",      "job.moved",       "job.evicted",
                                        "job.ended",         "job.changed",     "link.down",       "link.up",
                                        "link.changed",      "drain.requested", "drain.cleared",   "subnet.modeSet",
                                        "subnet.spreadSet",  "route.costsSet",  "route.rebalanced"};

ChangedRoutes changed_since(const FollowOptions& options, const std::string& given, const std::string& wanted) {
  return options.to == "routes" ? changed_route_commands(given, wanted)
                                : value_or_fail(changed_sonic_routes(given, wanted));
}

std::string percent(std::uint64_t permille) { return fmt::format("{}%", (permille + 5) / 10); }

}  // namespace

RouteFollower::RouteFollower(Session& session, FollowOptions options)
    : session_(session),
      options_(std::move(options)),
      given_(options_.state, options_.to + " of subnet " + options_.subnet, options_.dry_run) {}

Target RouteFollower::job_routes() const { return Target("/v1/subnets").segment(options_.subnet).path("/job-routes"); }

void RouteFollower::run_once() {
  choose_hops();
  read_tables();
  apply_owed();
  if (!options_.dry_run && !owed_.empty()) session_.exit_code = ExitCode::findings;
}

void RouteFollower::stop() {
  session_.service().remove(job_routes());
  session_.output.note("routes of " + options_.subnet + " follow no jobs any more");
  take_tables(session_.service().get(job_routes()));
  read_tables();
  apply_owed();
  if (!owed_.empty()) session_.exit_code = ExitCode::findings;
}

void RouteFollower::run() {
  Backoff trouble(std::chrono::seconds(1), std::chrono::minutes(1));
  for (bool is_first = true;; is_first = false) {
    auto pause = std::chrono::duration_cast<Backoff::Duration>(std::chrono::seconds(options_.every_s));
    try {
      if (is_first || read_version_ != wanted_version_ || has_news()) {
        choose_hops();
        read_tables();
      }
      apply_owed();
      trouble.reset();
    } catch (const CommandFailure& failure) {
      if (is_first) throw;
      read_version_ = UINT64_MAX;  // what was left undone is done again
      pause = trouble.next();
      session_.output.note(fmt::format("railweave: {}; tried again in {} s", failure.error().text(),
                                       std::chrono::duration_cast<std::chrono::seconds>(pause).count()));
    }
    session_.output.flush();
    std::this_thread::sleep_for(pause);
  }
}

bool RouteFollower::has_news() {
  Target target = Target("/v1/events").query("after", std::to_string(seq_)).query("fields", "seq");
  for (const char* type : kRouteEvents) target.query("type", type);
  bool any = false;
  try {
    const auto end = session_.service().each_item(target, 1, [&](const Json&) { any = true; }, [] {});
    if (!any) seq_ = end.seq;
  } catch (const CommandFailure& failure) {
    if (failure.error().code != kEventsGone) throw;
    any = true;
  }
  return any;
}

void RouteFollower::choose_hops() {
  api::ClientRequest request;
  request.method = options_.dry_run ? api::Method::get : api::Method::post;
  request.target = job_routes().text();
  const Json answer = session_.service().send(std::move(request)).body;
  take_tables(answer);
  say_hops(answer);
}

void RouteFollower::take_tables(const Json& answer) {
  seq_ = count_of(answer, "seq");
  wanted_version_ = count_of(answer, "version");
  digests_.clear();
  for (const Json& table : list(answer, "tables")) digests_[text_of(table, "switch")] = text_of(table, "digest");
}

void RouteFollower::say_hops(const Json& answer) {
  const bool is_kept = field(answer, "keptBecause").is_string();
  const std::string why = is_kept ? text_of(answer, "keptBecause") : std::string();
  if (is_kept && why == said_) return;
  said_ = why;
  if (session_.output.is_document()) return session_.output.line_document(answer);
  const std::size_t hops = list(answer, "hops").size();
  session_.output.text(
      is_kept
          ? fmt::format("routes of {} stay: {}; {} jobs, {} next hops chosen for jobs\n", options_.subnet,
                        in_commands(why), count_of(answer, "jobs"), hops)
          : fmt::format("routes of {} {} {} jobs: {} next hops chosen, which ask the fullest link for {} of its rate "
                        "instead of {}, and even routes for {}\n",
                        options_.subnet, options_.dry_run ? "would follow" : "follow", count_of(answer, "jobs"), hops,
                        percent(count_of(answer, "askedPermille")), percent(count_of(answer, "askedPermilleBefore")),
                        percent(count_of(answer, "askedPermilleEven"))));
}

std::string RouteFollower::wanted_of(const std::string& name, std::vector<std::string>& notes) {
  const NetworkNames names = read_network_names(names_, name);
  const Json table = table_of_switch(session_.service(), name);
  return options_.to == "routes" ? route_script(table, names, notes).text
                                 : sonic_routes(table, names, options_.port_step, notes);
}

// Only those that are other tables, or are made of other names, than what the switch was given. A mark is kept where no other routes came
// in force while tables were read.
void RouteFollower::read_tables() {
  if (read_version_ == wanted_version_) return;
  names_ = read_names_document(options_.names);  // of hosts and switches that came meanwhile, too
  const std::uint64_t names = Fnv1a().add(compact_json(names_)).add(options_.port_step).value();
  std::vector<std::string> notes;
  bool any = false;
  for (const auto& [name, digest] : digests_) {
    any = read_table(name, fmt::format("{} {:016x}", digest, names), notes) || any;
  }
  std::erase_if(owed_, [&](const auto& one) { return !digests_.contains(one.first); });
  std::ranges::sort(notes);
  notes.erase(std::ranges::unique(notes).begin(), notes.end());
  for (const std::string& note : notes) session_.output.note("railweave: note: " + note);
  read_version_ = wanted_version_;
  if (!any || options_.dry_run) return;
  const bool is_same = count_of(session_.service().get(job_routes()), "version") == wanted_version_;
  if (!is_same) read_version_ = UINT64_MAX;
  for (auto& [name, owed] : owed_) {
    if (!is_same) owed.mark.clear();
  }
}

bool RouteFollower::read_table(const std::string& name, const std::string& mark, std::vector<std::string>& notes) {
  const auto present = owed_.find(name);
  if (present == owed_.end() ? given_.mark_of(name) == mark : present->second.mark == mark) return false;
  std::string wanted = wanted_of(name, notes);
  Owed& owed = owed_[name];
  owed.wanted = std::move(wanted);
  owed.mark = mark;
  return true;
}

void RouteFollower::apply_owed() {
  for (auto at = owed_.begin(); at != owed_.end();) {
    const bool is_due = Clock::now() >= at->second.not_before;
    at = is_due && give(at->first, at->second) ? owed_.erase(at) : std::next(at);
  }
}

// While its program runs, the routes that change are not known: whatever becomes of it, they are owed until it has succeeded.
bool RouteFollower::give(const std::string& name, Owed& owed) {
  Output& output = session_.output;
  const ChangedRoutes changed = changed_since(options_, given_.of(name), owed.wanted);
  if (options_.dry_run) {
    if (changed.routes == 0) return true;
    if (output.is_document()) {
      output.line_document({{"switch", name}, {"routes", changed.routes}, {"text", changed.text}});
    } else {
      output.text(fmt::format("# {}: {}\n{}", name, plural(changed.routes, "route", "routes"), changed.text));
    }
    return false;
  }
  if (changed.routes == 0) {
    given_.keep_mark(name, owed.mark);
    return true;
  }
  given_.keep(name, changed.rest);
  const auto done = run_switch_script(options_.apply, name, changed.text, std::chrono::seconds(options_.timeout_s));
  if (done) {
    given_.keep(name, owed.wanted);
    given_.keep_mark(name, owed.mark);
  }
  if (output.is_document()) {
    output.line_document(
        {{"switch", name}, {"routes", changed.routes}, {"error", done ? Json(nullptr) : Json(done.error().message)}});
  } else if (done) {
    output.text(fmt::format("{}: {}\n", name, plural(changed.routes, "route", "routes")));
  }
  if (done) return true;
  const auto pause = owed.pause.next();
  owed.not_before = Clock::now() + pause;
  const bool is_last = options_.once || options_.stop;
  const auto pause_s = std::chrono::duration_cast<std::chrono::seconds>(pause).count();
  output.note(fmt::format("railweave: {}; {} keeps its routes{}", done.error().message, name,
                          is_last ? std::string() : fmt::format(", tried again in {} s", pause_s)));
  return false;
}

}  // namespace railweave::cli
