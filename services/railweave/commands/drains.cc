// railweave drains, and railweave links|switches|nodes drain|undrain.
#include "services/railweave/commands/drains.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <thread>

#include <fmt/core.h>

#include "services/railweave/command_line/number_option.h"
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/terminal/age.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

constexpr std::chrono::milliseconds kFirstPoll{50};
constexpr std::chrono::milliseconds kSlowestPoll{1'000};
constexpr std::uint64_t kUsualWaitSeconds = 3'600;
constexpr std::uint64_t kLongestWaitSeconds = 31'536'000;

struct DrainOptions {
  std::string id, reason;
  std::optional<std::uint64_t> gpu;  // of the node
  bool dry_run = false, force = false, wait = false;
  std::uint64_t wait_limit_s = kUsualWaitSeconds;
};

Cell drain_state_cell(const std::string& state) {
  return {state, state == "drained" ? Tone::good : (state == "-" ? Tone::faint : Tone::warning)};
}

std::string some(const Json& items, FieldName name, std::uint64_t count) {
  std::string text;
  std::size_t shown = 0;
  for (const auto& item : items) {
    if (shown++ == 8) break;
    text += (text.empty() ? "" : ", ") + text_of(item, name);
  }
  if (count == 0) return "nothing";
  return count > 8 ? fmt::format("{} and {} more", text, count - 8) : text;
}

std::string jobs_text(const Json& answer) {
  std::string text;
  std::size_t shown = 0;
  const auto count = count_of(answer, "jobsAffectedCount");
  for (const auto& job : list(answer, "jobsAffected")) {
    if (shown++ == 8) break;
    text += (text.empty() ? "" : ", ") + text_of(job, "job") + " (" + text_of(job, "effect") + ")";
  }
  if (count == 0) return "none";
  return count > 8 ? fmt::format("{} and {} more", text, count - 8) : text;
}

void print_answer(Output& output, const Json& answer, bool dry_run) {
  if (output.is_document()) return output.document(answer);
  Sheet sheet;
  sheet.add("Drain", text_of(answer, "kind") + " " + text_of(answer, "name"));
  if (field(answer, "state").is_string()) sheet.add("State", drain_state_cell(text_of(answer, "state")));
  if (field(answer, "waitsFor").is_string()) sheet.add("Waits for", text_of(answer, "waitsFor"));
  const bool safe = flag_of(answer, "safe");
  if (safe) {
    sheet.add("Safe", {"yes", Tone::good});
  } else {
    sheet.add("Safe", {flag_of(answer, "allowed") ? "no, forced" : "no, refused without --force", Tone::bad});
  }
  for (const auto& objection : list(answer, "objections")) sheet.add("Objection", {text_of(objection), Tone::bad});
  sheet.add("Cuts off", some(list(answer, "cutsOff"), "device", count_of(answer, "cutsOffCount")));
  sheet.add("Jobs", jobs_text(answer));
  for (const auto& lost : list(answer, "guaranteesAtRisk")) {
    sheet.add(
        "Guarantee",
        {text_of(lost, "job") + " of " + text_of(lost, "tenant") + " at risk: " + text_of(lost, "reason"), Tone::bad});
  }
  if (field(answer, "residualCapacity").is_number()) {
    sheet.add("Tables", text_of(answer, "changedEntries") + " entries change on " + text_of(answer, "changedSwitches") +
                            " switches");
    sheet.add("Fullest link", text_of(answer, "maxLinkLoadBefore") + " pairs before, " +
                                  text_of(answer, "maxLinkLoadAfter") + " after");
    sheet.add("Residual capacity", percent_of(answer, "residualCapacity") + " between the two tiers that lose most");
  }
  if (dry_run) sheet.add("Dry run", "nothing was changed");
  output.text(sheet.text(output.terminal()));
}

std::string command_line(const DrainNoun& noun, const char* verb, const std::string& id) {
  return fmt::format("railweave {} {} {}", noun.plural, verb, id);
}

[[noreturn]] void fail_waited(const DrainNoun& noun, const DrainOptions& options, const std::string& state) {
  throw CommandFailure(ExitCode::not_now,
                       {ErrorKind::unavailable,
                        "drains.notYet",
                        fmt::format("{} {} is not drained after {} s; it is {}, and the drain goes on", noun.singular,
                                    options.id, options.wait_limit_s, state),
                        {},
                        command_line(noun, "show", options.id) + " shows it, " +
                            command_line(noun, "undrain", options.id) + " takes it back"});
}

// Polls with exponential backoff until the drain is complete, and notes what it waits for whenever that changes.
void wait_until_drained(Session& session, const DrainNoun& noun, const DrainOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(options.wait_limit_s);
  auto pause = kFirstPoll;
  std::string noted;
  session.output.note(
      fmt::format("waiting for at most {} s; Ctrl-C ends the waiting and not the drain, which {} takes back",
                  options.wait_limit_s, command_line(noun, "undrain", options.id)));
  for (;;) {
    const Json item = session.service().get(Target(std::string("/v1/") + noun.plural).segment(options.id));
    const Json& drain = field(item, "drain");
    if (!drain.is_object()) {
      throw CommandFailure({ErrorKind::conflict,
                            "drains.cleared",
                            fmt::format("the drain of {} {} was cancelled by an undrain", noun.singular, options.id),
                            {},
                            {}});
    }
    const std::string state = text_of(drain, "state");
    if (state == "drained") return;
    const std::string waits = field(drain, "waitsFor").is_string() ? ": " + text_of(drain, "waitsFor") : std::string();
    if (const std::string line = state + waits; line != noted) {
      session.output.note(line);
      noted = line;
    }
    if (Clock::now() + pause > until) fail_waited(noun, options, state + waits);
    session.output.say_progress("waiting for the drain: " + state);
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kSlowestPoll);
  }
}

Answer send_drain(Session& session, const DrainNoun& noun, const DrainOptions& options, const char* verb) {
  Target target = Target(std::string("/v1/") + noun.plural).segment(options.id).path(verb);
  if (options.dry_run) target.query("dryRun", "true");
  Json body = Json::object();
  if (!options.reason.empty()) body["reason"] = options.reason;
  if (options.force) body["force"] = true;
  if (options.gpu) body["gpu"] = *options.gpu;
  return session.service().send(json_request(api::Method::post, target, body));
}

void drain(Session& session, const DrainNoun& noun, const DrainOptions& options) {
  if (options.dry_run && options.wait)
    fail_usage("--wait and --dry-run contradict each other: a dry run drains nothing");
  if (options.gpu && options.wait) fail_usage("--wait follows the drain of a whole node, not of one GPU");
  Json answer = send_drain(session, noun, options, "/drain").body;
  if (options.wait && text_of(answer, "state") != "drained") {
    wait_until_drained(session, noun, options);
    answer["state"] = "drained";
    answer["waitsFor"] = nullptr;
  }
  print_answer(session.output, answer, options.dry_run);
  if (options.dry_run && !flag_of(answer, "allowed")) session.exit_code = ExitCode::findings;
}

// What an undrain would take back.
void show_drain(Session& session, const DrainNoun& noun, const DrainOptions& options) {
  const Json item = session.service().get(Target(std::string("/v1/") + noun.plural).segment(options.id));
  if (session.output.is_document()) return session.output.document(item);
  Sheet sheet;
  add_drain_line(sheet, item);
  session.output.text(sheet.text(session.output.terminal()));
  const bool drained = field(item, "drain").is_object();
  note_dry_run(session, noun.singular + (" " + options.id) + (drained ? " would be back in use" : " is not drained"));
}

void undrain(Session& session, const DrainNoun& noun, const DrainOptions& options) {
  if (options.dry_run) return show_drain(session, noun, options);
  send_drain(session, noun, options, "/undrain");
  if (session.output.is_document()) return;
  Sheet sheet;
  sheet.add("Back in use", fmt::format("{}{} {}", options.gpu ? fmt::format("GPU {} of ", *options.gpu) : std::string(),
                                       noun.singular, options.id));
  session.output.text(sheet.text(session.output.terminal()));
}

ListView drains_view() {
  return {{text_column("KIND", "kind"),
           text_column("ID", "name"),
           {"STATE", [](const Json& item) { return drain_state_cell(text_of(item, "state")); }},
           spare_time_column("REQUESTED", "requestedAt"),
           age_column("requestedAt"),
           time_column("SINCE", "changedAt", true),
           text_column("BY", "actor"),
           sentence_column("REASON", "reason"),
           sentence_column("WAITS FOR", "waitsFor")},
          "no drains"};
}

}  // namespace

void add_drain_line(Sheet& sheet, const Json& item) {
  const Json& drain = field(item, "drain");
  if (!drain.is_object()) return;
  std::string text = text_of(drain, "state") + " since " + time_and_age_of(drain, "changedAt");
  if (text_of(drain, "reason") != "-") text += ": " + text_of(drain, "reason");
  if (field(drain, "waitsFor").is_string()) text += "; " + text_of(drain, "waitsFor");
  sheet.add("Drain", {text, Tone::warning});
}

void add_drain_commands(CLI::App& noun_command, Session& session, const DrainNoun& noun) {
  const std::string call = std::string("railweave ") + noun.plural;
  auto options = std::make_shared<DrainOptions>();
  const std::string dry = call + " drain " + noun.example + " --dry-run";
  const std::string full = call + " drain " + noun.example + " --reason 'ticket 8841' --wait";
  CLI::App& command = add_command(noun_command, "drain", fmt::format("Take a {} out of use", noun.singular),
                                  {dry.c_str(), full.c_str()});
  auto names = add_names(
      command,
      {.path = "", .noun = noun.singular, .argument = noun.argument, .meaning = noun.meaning, .print = nullptr});
  const bool of_node = std::string_view(noun.plural) == "nodes";
  if (of_node) add_number_option(command, "--gpu", options->gpu, "Only this GPU of it, by index", {0, 63});
  command.add_flag("--dry-run", options->dry_run, "Only show the effect; exit code 10 if the drain would be refused");
  command.add_flag("--force", options->force, "Drain in spite of objections");
  command.add_option("--reason", options->reason, "Free text, kept with the drain")->type_name("TEXT");
  CLI::Option* wait =
      command.add_flag("--wait", options->wait, "Wait until the drain is complete; Ctrl-C leaves it running");
  add_number_option(command, "--wait-limit", options->wait_limit_s,
                    "With --wait: for at most so long, then exit code 6; the drain goes on", {1, kLongestWaitSeconds})
      ->type_name("SECONDS")
      ->needs(wait);
  on_run(command, session, [&session, noun, options, names] {
    for_each_name(session, *names, [&](const std::string& id) {
      options->id = id;
      drain(session, noun, *options);
    });
  });

  auto back = std::make_shared<DrainOptions>();
  const std::string example = call + " undrain " + noun.example;
  CLI::App& undrain_command =
      add_command(noun_command, "undrain", fmt::format("Put a {} back into use", noun.singular), {example.c_str()});
  auto back_names = add_names(
      undrain_command,
      {.path = "", .noun = noun.singular, .argument = noun.argument, .meaning = noun.meaning, .print = nullptr});
  if (of_node) add_number_option(undrain_command, "--gpu", back->gpu, "Only this GPU of it, by index", {0, 63});
  undrain_command.add_flag("--dry-run", back->dry_run, "Only show the drain that would be taken back");
  undrain_command.add_option("--reason", back->reason, "Free text, kept with the drain")->type_name("TEXT");
  on_run(undrain_command, session, [&session, noun, back, back_names] {
    for_each_name(session, *back_names, [&](const std::string& id) {
      back->id = id;
      undrain(session, noun, *back);
    });
  });
}

void add_drains_command(CLI::App& root, Session& session) {
  CLI::App& command = add_command(root, "drains", "List links, switches and nodes that are drained or being drained",
                                  {"railweave drains", "railweave drains --kind node --state requested"});
  command.group("Fabric");
  add_list(command, session,
           {"/v1/drains",
            drains_view(),
            {{"--kind", "kind", "link|switch|node|gpu|siteLink", "Only drains of this kind of object"},
             {"--state", "state", "requested|rerouting|drained", "Only drains in this state"}}});
}

}  // namespace railweave::cli
