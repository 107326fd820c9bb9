// railweave guarantees list|links|reroute|certificate|verify|caps|partition.
#include <array>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "services/railweave/command_line/listing.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/commands/certificate_check.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/output_file.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

Cell guarantee_state_cell(const Json& item) {
  const bool holds = text_of(item, "state") == "holds";
  return {holds ? "holds" : "at risk", holds ? Tone::good : Tone::bad};
}

Cell tightest_cell(const Json& item) {
  const Json& link = field(item, "tightestLink");
  if (!link.is_object()) return "-";
  return Cell(text_of(link, "reservedGbps") + " of " + text_of(link, "limitGbps") + " Gb/s, " + text_of(link, "link"));
}

Cell risk_cell(const Json& item) {
  const Json& ms = field(item, "atRiskTotalMs");
  if (!ms.is_number() || ms.get<double>() == 0) return "-";
  return Cell(std::to_string(static_cast<std::uint64_t>(ms.get<double>() / 1000)) + " s");
}

Cell enforced_cell(const Json& item) {
  std::string text;
  for (const Json& means : list(item, "enforcement")) {
    text += (text.empty() ? "" : ", ") + text_of(means, "by") + " (" + text_of(means, "strength") + ")";
  }
  return Cell(text);
}

ListView guarantees_view() {
  return {{text_column("JOB", "job"),
           text_column("TENANT", "tenant"),
           text_column("CLASS", "class"),
           text_column("MODEL", "model"),
           number_column("Gb/s", "guaranteedGbpsPerPort"),
           {"STATE", guarantee_state_cell},
           {"COVERED",
            [](const Json& item) {
              if (!flag_of(item, "surviveLinkFailure")) return Cell("-");
              return flag_of(item, "covered") ? Cell("yes") : Cell("used up", Tone::warning);
            }},
           {"AT RISK", risk_cell, Align::right},
           {"TIGHTEST LINK", tightest_cell},
           {"IN FORCE",
            [](const Json& item) {
              const std::string level = text_of(field(item, "inForce"), "level");
              return Cell(level, level == "planned" ? Tone::warning : Tone::good);
            }},
           {"ENFORCED BY", enforced_cell, Align::left, true},
           text_column("REASON", "reason", true)},
          "no job has a guarantee (railweave contracts set TENANT --guaranteed GBPS gives one)"};
}

void print_links(Session& session, std::uint64_t top) {
  Output& output = session.output;
  const Json answer = session.service().get(Target("/v1/guarantees/links").query("top", std::to_string(top)));
  if (output.is_document()) return output.document(answer);
  Table table(
      {{"LINK"}, {"CLASS"}, {"RESERVED", Align::right}, {"LIMIT", Align::right}, {"CAPACITY", Align::right}, {"BY"}});
  for (const Json& link : list(answer, "items")) {
    for (const Json& one : list(link, "classes")) {
      std::string jobs;
      for (const Json& holder : list(one, "holders")) {
        if (jobs.size() > 80) break;
        jobs += (jobs.empty() ? "" : ", ") + text_of(holder, "job") + " " + text_of(holder, "gbps");
      }
      table.add({text_of(link, "link"), text_of(one, "class"), text_of(one, "reservedGbps"), text_of(one, "limitGbps"),
                 text_of(link, "capacityGbps"), jobs});
    }
  }
  if (table.rows() == 0) return output.note("nothing is reserved on any link");
  output.text(table.text(output.terminal()));
}

struct RerouteOptions {
  bool apply = false, reset = false, force = false;
  std::string reason;
};

void reset_reroute(Session& session, const RerouteOptions& options) {
  Target target("/v1/guarantees/reroute");
  if (options.force) target.query("force", "true");
  api::ClientRequest request;
  request.method = api::Method::del;
  request.target = target.text();
  session.service().send(std::move(request));
  session.output.note("no link has a cost: routes follow from the fabric alone");
}

void reroute(Session& session, const RerouteOptions& options) {
  if (options.reset) return reset_reroute(session, options);
  Output& output = session.output;
  Json answer;
  if (options.apply) {
    api::ClientRequest request;
    request.method = api::Method::post;
    request.target = Target("/v1/guarantees/reroute").text();
    request.content_type = "application/json";
    request.body = Json{{"reason", options.reason}}.dump(-1, ' ', false, Json::error_handler_t::replace);
    answer = session.service().send(std::move(request)).body;
  } else {
    answer = session.service().get(Target("/v1/guarantees/reroute"));
  }
  if (output.is_document()) return output.document(answer);
  Sheet sheet;
  const auto jobs = [&](const char* name) {
    return list(answer, name).empty() ? std::string("none") : joined(list(answer, name), 8);
  };
  sheet.add(options.apply ? "Hold again" : "Would hold again", jobs("holdAgain"));
  sheet.add("At risk still", jobs("stillAtRisk"));
  if (!list(answer, "costs").empty()) {
    sheet.add("Entries that change", text_of(answer, "changedEntries"));
    sheet.add("Lose coverage", text_of(answer, "loseCoverage"));
  }
  const Json& in_force = list(field(answer, "inForce"), "costs");
  sheet.add("Costs in force",
            in_force.empty()
                ? "none: routes follow from the fabric alone"
                : "on " + std::to_string(in_force.size()) + (in_force.size() == 1 ? " link since " : " links since ") +
                      text_of(field(answer, "inForce"), "since") + ", " + text_of(field(answer, "inForce"), "reason"));
  Table table({{"LINK"}, {"COST", Align::right}});
  for (const Json& one : list(answer, "costs")) {
    std::array<char, 32> cost{};
    (void)std::snprintf(cost.data(), cost.size(), "%.2f",
                        field(one, "cost").is_number() ? field(one, "cost").get<double>() : 1);
    table.add({text_of(one, "link"), std::string(cost.data())});
  }
  output.text(sheet.text(output.terminal()));
  if (table.rows() > 0) output.text("\n" + table.text(output.terminal()));
}

// What would be run on one node: nothing here runs it.
void print_caps_of_node(Output& output, const Json& answer, const std::string& name) {
  for (const Json& node : list(answer, "items")) {
    if (text_of(node, "node") != name) continue;
    for (const Json& port : list(node, "ports")) {
      std::string text = "# " + name + " " + text_of(port, "device") + ": " + text_of(port, "guaranteedGbps") +
                         " Gb/s guaranteed, at most " + text_of(port, "maxGbps") +
                         "\n# a queue pair: " + text_of(field(port, "queuePair"), "rateLimitKbps") +
                         " kb/s\n# a virtual function:\n";
      for (const Json& line : list(port, "virtualFunction")) text += text_of(line) + "\n";
      text += "# or the host's own stack:\n";
      for (const Json& line : list(port, "tc")) text += text_of(line) + "\n";
      output.text(text);
    }
    return;
  }
  throw CommandFailure(ExitCode::not_found, {ErrorKind::notFound,
                                             "cli.noNode",
                                             "the job has no rank on '" + name + "'",
                                             {},
                                             "without --node its nodes are listed"});
}

void print_caps(Session& session, const std::string& job, const std::string& node_wanted) {
  Output& output = session.output;
  const Json answer = session.service().get(Target("/v1/jobs").segment(job).path("/caps"));
  if (output.is_document()) return output.document(answer);
  if (!node_wanted.empty()) return print_caps_of_node(output, answer, node_wanted);
  Table table({{"NODE"}, {"ADAPTERS"}, {"GUARANTEED", Align::right}, {"AT MOST", Align::right}});
  std::set<std::pair<std::string, std::string>> means_known;
  for (const Json& node : list(answer, "items")) {
    // Adapters of a node are mostly alike: one line for those that are.
    std::map<std::pair<std::string, std::string>, std::string> alike;
    for (const Json& port : list(node, "ports")) {
      std::string& devices = alike[{text_of(port, "guaranteedGbps"), text_of(port, "maxGbps")}];
      devices += (devices.empty() ? "" : " ") + text_of(port, "device");
      for (const Json& means : list(port, "enforcement")) {
        means_known.emplace(text_of(means, "strength"), text_of(means, "statement"));
      }
    }
    for (const auto& [rates, devices] : alike) {
      table.add({text_of(node, "node"), devices, rates.first + " Gb/s", rates.second + " Gb/s"});
    }
  }
  output.text(table.text(output.terminal()));
  Sheet sheet;
  for (const auto& [strength, statement] : means_known) sheet.add("By " + strength, statement);
  output.text("\n" + sheet.text(output.terminal()));
  output.note("what sets them: railweave guarantees caps " + job + " --node NODE");
}

void print_partition(Session& session, const std::string& job) {
  Output& output = session.output;
  const Json answer = session.service().get(Target("/v1/jobs").segment(job).path("/partition"));
  if (output.is_document()) return output.document(answer);
  Sheet sheet;
  sheet.add("Job", text_of(answer, "job"));
  sheet.add("Tenant", text_of(answer, "tenant"));
  sheet.add("PKey", text_of(answer, "pkey"));
  for (const Json& item : list(answer, "items")) {
    sheet.add("NVLink domain", text_of(item, "domain") + ", partition " + text_of(item, "number") + ", " +
                                   std::to_string(list(item, "gpus").size()) + " GPUs on " +
                                   joined(list(item, "imexNodes"), 8));
  }
  output.text(sheet.text(output.terminal()));
}

}  // namespace

void add_guarantee_commands(CLI::App& root, Session& session) {
  CLI::App& guarantees = add_noun(root, "guarantees", "Bandwidth that jobs are guaranteed", "Jobs");
  guarantees.alias("guarantee");

  struct ListOptions {
    std::uint64_t limit = 0;
    std::string tenant;
    bool at_risk = false;
  };
  auto options = std::make_shared<ListOptions>();
  CLI::App& list_command = add_command(guarantees, "list", "What each job is guaranteed, and whether it holds",
                                       {"railweave guarantees list", "railweave guarantees list --at-risk -o wide"});
  add_limit_option(list_command, options->limit);
  list_command.add_option("--tenant", options->tenant, "Only this tenant's")->type_name("NAME");
  list_command.add_flag("--at-risk", options->at_risk, "Only those that do not hold");
  on_run(list_command, session, [&session, options] {
    Target target("/v1/guarantees");
    target.filter("tenant", options->tenant).filter("state", options->at_risk ? "atRisk" : "");
    print_list(session, target, guarantees_view(), options->limit);
  });

  auto top = std::make_shared<std::uint64_t>(20);
  CLI::App& links_command = add_command(guarantees, "links", "The links that guarantees fill most, and whose",
                                        {"railweave guarantees links --top 50"});
  add_number_option(links_command, "--top", *top, "At most so many links", {.least = 1, .most = 10'000});
  on_run(links_command, session, [&session, top] { print_links(session, *top); });

  CLI::App& reroute_command =
      add_command(guarantees, "reroute", "Link costs by which guarantees at risk would hold on other routes",
                  {"railweave guarantees reroute", "railweave guarantees reroute --apply --reason 'INC-42'",
                   "railweave guarantees reroute --reset"});
  auto other = std::make_shared<RerouteOptions>();
  auto* apply = reroute_command.add_flag("--apply", other->apply, "Set them: routes change at once");
  auto* reset = reroute_command.add_flag("--reset", other->reset, "Take all costs back, if no guarantee needs them");
  reset->excludes(apply);
  reroute_command.add_flag("--force", other->force, "Take them back although guarantees would not hold")->needs(reset);
  reroute_command.add_option("--reason", other->reason, "Why, for the history")->needs(apply);
  on_run(reroute_command, session, [&session, other] { reroute(session, *other); });

  auto path = std::make_shared<std::string>();
  CLI::App& certificate_command =
      add_command(guarantees, "certificate", "What is guaranteed on every link, for others to check",
                  {"railweave guarantees certificate -O certificate.json"});
  add_output_file_option(certificate_command, *path);
  on_run(certificate_command, session, [&session, path] {
    write_file_or_stdout(session.output, *path, session.service().get_text(Target("/v1/guarantees/certificate")));
  });

  auto check = std::make_shared<CertificateCheck>();
  CLI::App& verify_command =
      add_command(guarantees, "verify", "Check the certificate by brute force, with railweave-verify",
                  {"railweave guarantees verify", "railweave guarantees verify --keep audit/ --failures 100"});
  verify_command.add_option("--keep", check->keep, "Leave the fabric, the tables and the certificate in this folder")
      ->type_name("FOLDER");
  add_number_option(verify_command, "--failures", check->failures,
                    "So many of the links whose failure is survived fail in turn, the fullest first",
                    {.least = 0, .most = 100'000});
  on_run(verify_command, session, [&session, check] { verify_certificate(session, *check); });

  auto job = std::make_shared<std::string>();
  CLI::App& caps_command =
      add_command(guarantees, "caps", "What a job's adapter ports must be limited to, and how",
                  {"railweave guarantees caps job-000123", "railweave guarantees caps job-000123 --node dgx-017"});
  caps_command.add_option("JOB", *job, "Its id")->required();
  auto node = std::make_shared<std::string>();
  caps_command.add_option("--node", *node, "The commands that set them on this node; nothing here runs them")
      ->type_name("NODE");
  on_run(caps_command, session, [&session, job, node] { print_caps(session, *job, *node); });
  CLI::App& partition_command =
      add_command(guarantees, "partition", "A job's partitions of NVLink domains, and its PKey",
                  {"railweave guarantees partition job-000123"});
  partition_command.add_option("JOB", *job, "Its id")->required();
  on_run(partition_command, session, [&session, job] { print_partition(session, *job); });
}

}  // namespace railweave::cli
